"""Parameters as MXNet's front end writes them: str() of Python values. convop and MXNet are driven
by the same dictionary."""


def of(p):
    """pad_begin counts for both ends: MXNet has no other padding."""
    return {"kernel": str(tuple(p["kernel"])), "stride": str(tuple(p["stride"])),
            "dilate": str(tuple(p["dilate"])), "pad": str(tuple(p["pad_begin"])),
            "num_filter": str(p["oc"]), "num_group": str(p["groups"]), "workspace": str(512),
            "no_bias": str(not p["bias"]), "cudnn_tune": str(None), "cudnn_off": str(False),
            # Channels last is refused by MXNet on the CPU, so its side is always NC*.
            "layout": str(None) if p["mb"] == 1 else ("NCW", "NCHW", "NCDHW")[p["axes"] - 1]}
