/* Prints the structs of the headers, a member and its offset a line, for the test that compares
 * them with those in python/convop/_structs.py. */
#include <convop/convop.h>
#include <stdio.h>

#define SIZE(python, type)           printf("%s - %zu\n", python, sizeof(type))
#define AT(python, type, py, member) printf("%s %s %zu\n", python, py, offsetof(type, member))

int main(void)
{
    SIZE("DLTensor", DLTensor);
    AT("DLTensor", DLTensor, "byte_offset", byte_offset);
    SIZE("Managed", DLManagedTensor);
    SIZE("Tuple", convop_tuple);
    SIZE("ConvParams", convop_conv_params);
    AT("ConvParams", convop_conv_params, "pad_end", pad_end);
    AT("ConvParams", convop_conv_params, "layout", layout);
    SIZE("Exec", convop_exec);
    AT("Exec", convop_exec, "is_train", is_train);
    SIZE("Shape", convop_shape);
    SIZE("DataType", DLDataType);
    SIZE("Arg", convop_arg);
    SIZE("EnumValue", convop_enum_value);
    SIZE("Field", convop_field);
    AT("Field", convop_field, "default", default_text);
    AT("Field", convop_field, "doc", doc);
    AT("Op", convop_op, "num_fields", num_fields);
    AT("Op", convop_op, "max_inputs", max_inputs);
    AT("Op", convop_op, "num_outputs", num_outputs);
    AT("Op", convop_op, "mutated_inputs", mutated_inputs);
    SIZE("Visible", convop_visible);
    SIZE("SettingInfo", convop_setting_info);
    SIZE("InfoItem", convop_info_item);
    SIZE("ConvRow", convop_conv_row);
    AT("ConvRow", convop_conv_row, "ms", ms);
    AT("ConvRow", convop_conv_row, "error_bound", error_bound);
    SIZE("TuneRecord", convop_tune_record);
    SIZE("TuneCounts", convop_tune_counts);
    SIZE("TuneFilter", convop_tune_filter);
    SIZE("TuneOptions", convop_tune_options);
    return 0;
}
