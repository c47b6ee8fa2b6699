// Made by `python3 -m bindings.generate java` from docs/c_api.json; do not edit.
// clang-format off
#include <dlfcn.h>
#include <headrace/headrace.h>
#include <stddef.h>

#include "bridge.h"

#define POINTER(type, number) ((type)(intptr_t)(number))

/* ---- The library: its functions are looked up, so that one that is missing is an error. ---- */

static struct api {
  __typeof__(hr_api_version)* hr_api_version;
  __typeof__(hr_version_text)* hr_version_text;
  __typeof__(hr_status_code)* hr_status_code;
  __typeof__(hr_status_message)* hr_status_message;
  __typeof__(hr_status_node)* hr_status_node;
  __typeof__(hr_status_create)* hr_status_create;
  __typeof__(hr_status_release)* hr_status_release;
  __typeof__(hr_code_name)* hr_code_name;
  __typeof__(hr_text_data)* hr_text_data;
  __typeof__(hr_text_size)* hr_text_size;
  __typeof__(hr_text_release)* hr_text_release;
  __typeof__(hr_cancel_create)* hr_cancel_create;
  __typeof__(hr_cancel_trigger)* hr_cancel_trigger;
  __typeof__(hr_cancel_release)* hr_cancel_release;
  __typeof__(hr_dtype_size)* hr_dtype_size;
  __typeof__(hr_dtype_name)* hr_dtype_name;
  __typeof__(hr_launch_from_environment)* hr_launch_from_environment;
  __typeof__(hr_launch_release)* hr_launch_release;
  __typeof__(hr_launch_rank)* hr_launch_rank;
  __typeof__(hr_launch_size)* hr_launch_size;
  __typeof__(hr_launch_local_rank)* hr_launch_local_rank;
  __typeof__(hr_launch_local_size)* hr_launch_local_size;
  __typeof__(hr_launch_epoch)* hr_launch_epoch;
  __typeof__(hr_launch_min_ranks)* hr_launch_min_ranks;
  __typeof__(hr_launch_max_ranks)* hr_launch_max_ranks;
  __typeof__(hr_launch_store)* hr_launch_store;
  __typeof__(hr_launch_describe)* hr_launch_describe;
  __typeof__(hr_store_open)* hr_store_open;
  __typeof__(hr_store_open_with)* hr_store_open_with;
  __typeof__(hr_store_url)* hr_store_url;
  __typeof__(hr_store_from_callbacks)* hr_store_from_callbacks;
  __typeof__(hr_store_release)* hr_store_release;
  __typeof__(hr_group_create)* hr_group_create;
  __typeof__(hr_group_release)* hr_group_release;
  __typeof__(hr_group_close)* hr_group_close;
  __typeof__(hr_group_abort)* hr_group_abort;
  __typeof__(hr_group_rank)* hr_group_rank;
  __typeof__(hr_group_size)* hr_group_size;
  __typeof__(hr_group_epoch)* hr_group_epoch;
  __typeof__(hr_group_status)* hr_group_status;
  __typeof__(hr_group_describe)* hr_group_describe;
  __typeof__(hr_group_dump)* hr_group_dump;
  __typeof__(hr_dump_read)* hr_dump_read;
  __typeof__(hr_group_split)* hr_group_split;
  __typeof__(hr_group_shrink)* hr_group_shrink;
  __typeof__(hr_group_grow)* hr_group_grow;
  __typeof__(hr_group_waiting)* hr_group_waiting;
  __typeof__(hr_group_join)* hr_group_join;
  __typeof__(hr_send)* hr_send;
  __typeof__(hr_recv)* hr_recv;
  __typeof__(hr_barrier)* hr_barrier;
  __typeof__(hr_broadcast)* hr_broadcast;
  __typeof__(hr_reduce)* hr_reduce;
  __typeof__(hr_all_reduce)* hr_all_reduce;
  __typeof__(hr_gather)* hr_gather;
  __typeof__(hr_all_gather)* hr_all_gather;
  __typeof__(hr_scatter)* hr_scatter;
  __typeof__(hr_reduce_scatter)* hr_reduce_scatter;
  __typeof__(hr_all_to_all)* hr_all_to_all;
  __typeof__(hr_work_release)* hr_work_release;
  __typeof__(hr_work_test)* hr_work_test;
  __typeof__(hr_work_wait)* hr_work_wait;
  __typeof__(hr_work_on_done)* hr_work_on_done;
  __typeof__(hr_work_enqueue)* hr_work_enqueue;
  __typeof__(hr_work_cancel)* hr_work_cancel;
  __typeof__(hr_send_start)* hr_send_start;
  __typeof__(hr_recv_start)* hr_recv_start;
  __typeof__(hr_barrier_start)* hr_barrier_start;
  __typeof__(hr_broadcast_start)* hr_broadcast_start;
  __typeof__(hr_reduce_start)* hr_reduce_start;
  __typeof__(hr_all_reduce_start)* hr_all_reduce_start;
  __typeof__(hr_gather_start)* hr_gather_start;
  __typeof__(hr_all_gather_start)* hr_all_gather_start;
  __typeof__(hr_scatter_start)* hr_scatter_start;
  __typeof__(hr_reduce_scatter_start)* hr_reduce_scatter_start;
  __typeof__(hr_all_to_all_start)* hr_all_to_all_start;
  __typeof__(hr_group_start)* hr_group_start;
  __typeof__(hr_group_run)* hr_group_run;
  __typeof__(hr_group_explain)* hr_group_explain;
  __typeof__(hr_session_bind_group)* hr_session_bind_group;
  __typeof__(hr_session_broadcast)* hr_session_broadcast;
  __typeof__(hr_graph_body)* hr_graph_body;
  __typeof__(hr_graph_input_sequence)* hr_graph_input_sequence;
  __typeof__(hr_graph_if)* hr_graph_if;
  __typeof__(hr_graph_loop)* hr_graph_loop;
  __typeof__(hr_graph_scan)* hr_graph_scan;
  __typeof__(hr_graph_call)* hr_graph_call;
  __typeof__(hr_node_spec_body)* hr_node_spec_body;
  __typeof__(hr_env_create)* hr_env_create;
  __typeof__(hr_env_release)* hr_env_release;
  __typeof__(hr_env_load_plugin)* hr_env_load_plugin;
  __typeof__(hr_env_describe)* hr_env_describe;
  __typeof__(hr_graph_create)* hr_graph_create;
  __typeof__(hr_graph_release)* hr_graph_release;
  __typeof__(hr_graph_input)* hr_graph_input;
  __typeof__(hr_graph_bound)* hr_graph_bound;
  __typeof__(hr_graph_constant)* hr_graph_constant;
  __typeof__(hr_graph_variable)* hr_graph_variable;
  __typeof__(hr_graph_variable_init)* hr_graph_variable_init;
  __typeof__(hr_graph_read)* hr_graph_read;
  __typeof__(hr_graph_assign)* hr_graph_assign;
  __typeof__(hr_graph_assign_add)* hr_graph_assign_add;
  __typeof__(hr_graph_set_trainable)* hr_graph_set_trainable;
  __typeof__(hr_graph_op)* hr_graph_op;
  __typeof__(hr_graph_device)* hr_graph_device;
  __typeof__(hr_node_spec_create)* hr_node_spec_create;
  __typeof__(hr_node_spec_release)* hr_node_spec_release;
  __typeof__(hr_node_spec_name)* hr_node_spec_name;
  __typeof__(hr_node_spec_device)* hr_node_spec_device;
  __typeof__(hr_node_spec_input)* hr_node_spec_input;
  __typeof__(hr_node_spec_control)* hr_node_spec_control;
  __typeof__(hr_node_spec_int)* hr_node_spec_int;
  __typeof__(hr_node_spec_float)* hr_node_spec_float;
  __typeof__(hr_node_spec_string)* hr_node_spec_string;
  __typeof__(hr_node_spec_ints)* hr_node_spec_ints;
  __typeof__(hr_node_spec_floats)* hr_node_spec_floats;
  __typeof__(hr_node_spec_strings)* hr_node_spec_strings;
  __typeof__(hr_node_spec_tensor)* hr_node_spec_tensor;
  __typeof__(hr_graph_add)* hr_graph_add;
  __typeof__(hr_graph_replace)* hr_graph_replace;
  __typeof__(hr_graph_name_value)* hr_graph_name_value;
  __typeof__(hr_graph_dense)* hr_graph_dense;
  __typeof__(hr_graph_conv2d)* hr_graph_conv2d;
  __typeof__(hr_graph_batch_norm)* hr_graph_batch_norm;
  __typeof__(hr_graph_add_gradients)* hr_graph_add_gradients;
  __typeof__(hr_graph_variable_gradients)* hr_graph_variable_gradients;
  __typeof__(hr_graph_apply_gradients)* hr_graph_apply_gradients;
  __typeof__(hr_graph_minimize)* hr_graph_minimize;
  __typeof__(hr_graph_signature_input)* hr_graph_signature_input;
  __typeof__(hr_graph_signature_output)* hr_graph_signature_output;
  __typeof__(hr_graph_signature_target)* hr_graph_signature_target;
  __typeof__(hr_graph_remove_signature)* hr_graph_remove_signature;
  __typeof__(hr_graph_prune)* hr_graph_prune;
  __typeof__(hr_graph_set_metadata)* hr_graph_set_metadata;
  __typeof__(hr_graph_save)* hr_graph_save;
  __typeof__(hr_graph_get)* hr_graph_get;
  __typeof__(hr_graph_get_value)* hr_graph_get_value;
  __typeof__(hr_graph_get_node)* hr_graph_get_node;
  __typeof__(hr_graph_get_variable)* hr_graph_get_variable;
  __typeof__(hr_graph_get_signature)* hr_graph_get_signature;
  __typeof__(hr_graph_get_attribute)* hr_graph_get_attribute;
  __typeof__(hr_graph_find_value)* hr_graph_find_value;
  __typeof__(hr_graph_find_node)* hr_graph_find_node;
  __typeof__(hr_graph_find_variable)* hr_graph_find_variable;
  __typeof__(hr_graph_find_signature)* hr_graph_find_signature;
  __typeof__(hr_graph_node_int)* hr_graph_node_int;
  __typeof__(hr_graph_node_float)* hr_graph_node_float;
  __typeof__(hr_graph_node_string)* hr_graph_node_string;
  __typeof__(hr_graph_node_ints)* hr_graph_node_ints;
  __typeof__(hr_graph_node_floats)* hr_graph_node_floats;
  __typeof__(hr_graph_node_strings)* hr_graph_node_strings;
  __typeof__(hr_graph_node_tensor)* hr_graph_node_tensor;
  __typeof__(hr_graph_value_tensor)* hr_graph_value_tensor;
  __typeof__(hr_graph_variable_tensor)* hr_graph_variable_tensor;
  __typeof__(hr_graph_type_of)* hr_graph_type_of;
  __typeof__(hr_model_load)* hr_model_load;
  __typeof__(hr_model_load_memory)* hr_model_load_memory;
  __typeof__(hr_model_load_callback)* hr_model_load_callback;
  __typeof__(hr_model_from_graph)* hr_model_from_graph;
  __typeof__(hr_graph_from_model)* hr_graph_from_model;
  __typeof__(hr_model_release)* hr_model_release;
  __typeof__(hr_model_convert)* hr_model_convert;
  __typeof__(hr_model_export)* hr_model_export;
  __typeof__(hr_tensor_load)* hr_tensor_load;
  __typeof__(hr_model_describe)* hr_model_describe;
  __typeof__(hr_model_view)* hr_model_view;
  __typeof__(hr_model_graph_text)* hr_model_graph_text;
  __typeof__(hr_model_file_describe)* hr_model_file_describe;
  __typeof__(hr_env_add_operator)* hr_env_add_operator;
  __typeof__(hr_op_input_count)* hr_op_input_count;
  __typeof__(hr_op_output_count)* hr_op_output_count;
  __typeof__(hr_op_int)* hr_op_int;
  __typeof__(hr_op_float)* hr_op_float;
  __typeof__(hr_op_string)* hr_op_string;
  __typeof__(hr_op_ints)* hr_op_ints;
  __typeof__(hr_op_floats)* hr_op_floats;
  __typeof__(hr_op_input_type)* hr_op_input_type;
  __typeof__(hr_op_set_output)* hr_op_set_output;
  __typeof__(hr_op_set_output_like)* hr_op_set_output_like;
  __typeof__(hr_op_input_tensor)* hr_op_input_tensor;
  __typeof__(hr_op_output_tensor)* hr_op_output_tensor;
  __typeof__(hr_op_parallel_for)* hr_op_parallel_for;
  __typeof__(hr_op_input)* hr_op_input;
  __typeof__(hr_op_output)* hr_op_output;
  __typeof__(hr_op_output_gradient)* hr_op_output_gradient;
  __typeof__(hr_op_wants_gradient)* hr_op_wants_gradient;
  __typeof__(hr_op_add)* hr_op_add;
  __typeof__(hr_op_scalar)* hr_op_scalar;
  __typeof__(hr_op_set_gradient)* hr_op_set_gradient;
  __typeof__(hr_queue_create)* hr_queue_create;
  __typeof__(hr_queue_release)* hr_queue_release;
  __typeof__(hr_queue_poll)* hr_queue_poll;
  __typeof__(hr_queue_wait)* hr_queue_wait;
  __typeof__(hr_queue_descriptor)* hr_queue_descriptor;
  __typeof__(hr_session_create)* hr_session_create;
  __typeof__(hr_session_close)* hr_session_close;
  __typeof__(hr_session_release)* hr_session_release;
  __typeof__(hr_session_trim)* hr_session_trim;
  __typeof__(hr_session_run)* hr_session_run;
  __typeof__(hr_session_variable_count)* hr_session_variable_count;
  __typeof__(hr_session_variable_name)* hr_session_variable_name;
  __typeof__(hr_session_get_variable)* hr_session_get_variable;
  __typeof__(hr_session_set_variable)* hr_session_set_variable;
  __typeof__(hr_session_describe)* hr_session_describe;
  __typeof__(hr_call_create)* hr_call_create;
  __typeof__(hr_call_create_custom)* hr_call_create_custom;
  __typeof__(hr_call_release)* hr_call_release;
  __typeof__(hr_call_bind)* hr_call_bind;
  __typeof__(hr_call_bind_scalar)* hr_call_bind_scalar;
  __typeof__(hr_call_output)* hr_call_output;
  __typeof__(hr_call_bind_output)* hr_call_bind_output;
  __typeof__(hr_call_output_type)* hr_call_output_type;
  __typeof__(hr_call_run)* hr_call_run;
  __typeof__(hr_call_start)* hr_call_start;
  __typeof__(hr_run_release)* hr_run_release;
  __typeof__(hr_run_test)* hr_run_test;
  __typeof__(hr_run_wait)* hr_run_wait;
  __typeof__(hr_run_on_done)* hr_run_on_done;
  __typeof__(hr_run_enqueue)* hr_run_enqueue;
  __typeof__(hr_run_cancel)* hr_run_cancel;
  __typeof__(hr_call_result)* hr_call_result;
  __typeof__(hr_call_take_result)* hr_call_take_result;
  __typeof__(hr_call_describe)* hr_call_describe;
  __typeof__(hr_call_profile)* hr_call_profile;
  __typeof__(hr_tensor_create)* hr_tensor_create;
  __typeof__(hr_tensor_copy_of)* hr_tensor_copy_of;
  __typeof__(hr_tensor_wrap)* hr_tensor_wrap;
  __typeof__(hr_tensor_wrap_strided)* hr_tensor_wrap_strided;
  __typeof__(hr_tensor_release)* hr_tensor_release;
  __typeof__(hr_tensor_share)* hr_tensor_share;
  __typeof__(hr_tensor_dtype)* hr_tensor_dtype;
  __typeof__(hr_tensor_rank)* hr_tensor_rank;
  __typeof__(hr_tensor_dims)* hr_tensor_dims;
  __typeof__(hr_tensor_elements)* hr_tensor_elements;
  __typeof__(hr_tensor_bytes)* hr_tensor_bytes;
  __typeof__(hr_tensor_data)* hr_tensor_data;
  __typeof__(hr_tensor_read_only)* hr_tensor_read_only;
  __typeof__(hr_tensor_device)* hr_tensor_device;
  __typeof__(hr_tensor_device_data)* hr_tensor_device_data;
  __typeof__(hr_tensor_strides)* hr_tensor_strides;
  __typeof__(hr_tensor_from_dlpack)* hr_tensor_from_dlpack;
  __typeof__(hr_tensor_to_dlpack)* hr_tensor_to_dlpack;
  __typeof__(hr_dataset_open)* hr_dataset_open;
  __typeof__(hr_dataset_from_tensors)* hr_dataset_from_tensors;
  __typeof__(hr_dataset_from_callbacks)* hr_dataset_from_callbacks;
  __typeof__(hr_dataset_release)* hr_dataset_release;
  __typeof__(hr_dataset_done)* hr_dataset_done;
  __typeof__(hr_dataset_batches)* hr_dataset_batches;
  __typeof__(hr_dataset_rewind)* hr_dataset_rewind;
  __typeof__(hr_dataset_field_count)* hr_dataset_field_count;
  __typeof__(hr_dataset_field_name)* hr_dataset_field_name;
  __typeof__(hr_dataset_next)* hr_dataset_next;
  __typeof__(hr_dataset_rename)* hr_dataset_rename;
  __typeof__(hr_dataset_describe)* hr_dataset_describe;
  __typeof__(hr_dataset_position)* hr_dataset_position;
  __typeof__(hr_dataset_seek)* hr_dataset_seek;
  __typeof__(hr_dataset_reshard)* hr_dataset_reshard;
  __typeof__(hr_dataset_map)* hr_dataset_map;
  __typeof__(hr_dataset_filter)* hr_dataset_filter;
  __typeof__(hr_dataset_cache)* hr_dataset_cache;
  __typeof__(hr_call_bind_dataset)* hr_call_bind_dataset;
  __typeof__(hr_session_save)* hr_session_save;
  __typeof__(hr_session_restore)* hr_session_restore;
  __typeof__(hr_session_step)* hr_session_step;
  __typeof__(hr_checkpoint_describe)* hr_checkpoint_describe;
  __typeof__(hr_weights_describe)* hr_weights_describe;
  __typeof__(hr_session_export_weights)* hr_session_export_weights;
  __typeof__(hr_session_import_weights)* hr_session_import_weights;
  __typeof__(hr_session_export)* hr_session_export;
  __typeof__(hr_session_save_adapters)* hr_session_save_adapters;
  __typeof__(hr_session_load_adapters)* hr_session_load_adapters;
  __typeof__(hr_summary_open)* hr_summary_open;
  __typeof__(hr_summary_release)* hr_summary_release;
  __typeof__(hr_summary_scalar)* hr_summary_scalar;
  __typeof__(hr_summary_histogram)* hr_summary_histogram;
  __typeof__(hr_summary_images)* hr_summary_images;
  __typeof__(hr_summary_text)* hr_summary_text;
  __typeof__(hr_summary_graph)* hr_summary_graph;
  __typeof__(hr_summary_flush)* hr_summary_flush;
  __typeof__(hr_train)* hr_train;
  __typeof__(hr_evaluate)* hr_evaluate;
  __typeof__(hr_evaluate_metrics)* hr_evaluate_metrics;
  __typeof__(hr_graph_quantize)* hr_graph_quantize;
  __typeof__(hr_progress_create)* hr_progress_create;
  __typeof__(hr_progress_update)* hr_progress_update;
  __typeof__(hr_progress_message)* hr_progress_message;
  __typeof__(hr_progress_release)* hr_progress_release;
  __typeof__(hr_graph_schedule)* hr_graph_schedule;
  __typeof__(hr_graph_clip_gradients)* hr_graph_clip_gradients;
  __typeof__(hr_graph_set_trainable_matching)* hr_graph_set_trainable_matching;
  __typeof__(hr_graph_minimize_groups)* hr_graph_minimize_groups;
  __typeof__(hr_graph_average_signature)* hr_graph_average_signature;
  __typeof__(hr_graph_swap_averages)* hr_graph_swap_averages;
  __typeof__(hr_graph_copy_signature)* hr_graph_copy_signature;
  __typeof__(hr_graph_metric)* hr_graph_metric;
  __typeof__(hr_graph_distribute)* hr_graph_distribute;
  __typeof__(hr_graph_add_lora)* hr_graph_add_lora;
  __typeof__(hr_graph_load_adapters)* hr_graph_load_adapters;
} api;

static const struct {
  const char* name;
  size_t offset;
} functions[] = {
    {"hr_api_version", offsetof(struct api, hr_api_version)},
    {"hr_version_text", offsetof(struct api, hr_version_text)},
    {"hr_status_code", offsetof(struct api, hr_status_code)},
    {"hr_status_message", offsetof(struct api, hr_status_message)},
    {"hr_status_node", offsetof(struct api, hr_status_node)},
    {"hr_status_create", offsetof(struct api, hr_status_create)},
    {"hr_status_release", offsetof(struct api, hr_status_release)},
    {"hr_code_name", offsetof(struct api, hr_code_name)},
    {"hr_text_data", offsetof(struct api, hr_text_data)},
    {"hr_text_size", offsetof(struct api, hr_text_size)},
    {"hr_text_release", offsetof(struct api, hr_text_release)},
    {"hr_cancel_create", offsetof(struct api, hr_cancel_create)},
    {"hr_cancel_trigger", offsetof(struct api, hr_cancel_trigger)},
    {"hr_cancel_release", offsetof(struct api, hr_cancel_release)},
    {"hr_dtype_size", offsetof(struct api, hr_dtype_size)},
    {"hr_dtype_name", offsetof(struct api, hr_dtype_name)},
    {"hr_launch_from_environment", offsetof(struct api, hr_launch_from_environment)},
    {"hr_launch_release", offsetof(struct api, hr_launch_release)},
    {"hr_launch_rank", offsetof(struct api, hr_launch_rank)},
    {"hr_launch_size", offsetof(struct api, hr_launch_size)},
    {"hr_launch_local_rank", offsetof(struct api, hr_launch_local_rank)},
    {"hr_launch_local_size", offsetof(struct api, hr_launch_local_size)},
    {"hr_launch_epoch", offsetof(struct api, hr_launch_epoch)},
    {"hr_launch_min_ranks", offsetof(struct api, hr_launch_min_ranks)},
    {"hr_launch_max_ranks", offsetof(struct api, hr_launch_max_ranks)},
    {"hr_launch_store", offsetof(struct api, hr_launch_store)},
    {"hr_launch_describe", offsetof(struct api, hr_launch_describe)},
    {"hr_store_open", offsetof(struct api, hr_store_open)},
    {"hr_store_open_with", offsetof(struct api, hr_store_open_with)},
    {"hr_store_url", offsetof(struct api, hr_store_url)},
    {"hr_store_from_callbacks", offsetof(struct api, hr_store_from_callbacks)},
    {"hr_store_release", offsetof(struct api, hr_store_release)},
    {"hr_group_create", offsetof(struct api, hr_group_create)},
    {"hr_group_release", offsetof(struct api, hr_group_release)},
    {"hr_group_close", offsetof(struct api, hr_group_close)},
    {"hr_group_abort", offsetof(struct api, hr_group_abort)},
    {"hr_group_rank", offsetof(struct api, hr_group_rank)},
    {"hr_group_size", offsetof(struct api, hr_group_size)},
    {"hr_group_epoch", offsetof(struct api, hr_group_epoch)},
    {"hr_group_status", offsetof(struct api, hr_group_status)},
    {"hr_group_describe", offsetof(struct api, hr_group_describe)},
    {"hr_group_dump", offsetof(struct api, hr_group_dump)},
    {"hr_dump_read", offsetof(struct api, hr_dump_read)},
    {"hr_group_split", offsetof(struct api, hr_group_split)},
    {"hr_group_shrink", offsetof(struct api, hr_group_shrink)},
    {"hr_group_grow", offsetof(struct api, hr_group_grow)},
    {"hr_group_waiting", offsetof(struct api, hr_group_waiting)},
    {"hr_group_join", offsetof(struct api, hr_group_join)},
    {"hr_send", offsetof(struct api, hr_send)},
    {"hr_recv", offsetof(struct api, hr_recv)},
    {"hr_barrier", offsetof(struct api, hr_barrier)},
    {"hr_broadcast", offsetof(struct api, hr_broadcast)},
    {"hr_reduce", offsetof(struct api, hr_reduce)},
    {"hr_all_reduce", offsetof(struct api, hr_all_reduce)},
    {"hr_gather", offsetof(struct api, hr_gather)},
    {"hr_all_gather", offsetof(struct api, hr_all_gather)},
    {"hr_scatter", offsetof(struct api, hr_scatter)},
    {"hr_reduce_scatter", offsetof(struct api, hr_reduce_scatter)},
    {"hr_all_to_all", offsetof(struct api, hr_all_to_all)},
    {"hr_work_release", offsetof(struct api, hr_work_release)},
    {"hr_work_test", offsetof(struct api, hr_work_test)},
    {"hr_work_wait", offsetof(struct api, hr_work_wait)},
    {"hr_work_on_done", offsetof(struct api, hr_work_on_done)},
    {"hr_work_enqueue", offsetof(struct api, hr_work_enqueue)},
    {"hr_work_cancel", offsetof(struct api, hr_work_cancel)},
    {"hr_send_start", offsetof(struct api, hr_send_start)},
    {"hr_recv_start", offsetof(struct api, hr_recv_start)},
    {"hr_barrier_start", offsetof(struct api, hr_barrier_start)},
    {"hr_broadcast_start", offsetof(struct api, hr_broadcast_start)},
    {"hr_reduce_start", offsetof(struct api, hr_reduce_start)},
    {"hr_all_reduce_start", offsetof(struct api, hr_all_reduce_start)},
    {"hr_gather_start", offsetof(struct api, hr_gather_start)},
    {"hr_all_gather_start", offsetof(struct api, hr_all_gather_start)},
    {"hr_scatter_start", offsetof(struct api, hr_scatter_start)},
    {"hr_reduce_scatter_start", offsetof(struct api, hr_reduce_scatter_start)},
    {"hr_all_to_all_start", offsetof(struct api, hr_all_to_all_start)},
    {"hr_group_start", offsetof(struct api, hr_group_start)},
    {"hr_group_run", offsetof(struct api, hr_group_run)},
    {"hr_group_explain", offsetof(struct api, hr_group_explain)},
    {"hr_session_bind_group", offsetof(struct api, hr_session_bind_group)},
    {"hr_session_broadcast", offsetof(struct api, hr_session_broadcast)},
    {"hr_graph_body", offsetof(struct api, hr_graph_body)},
    {"hr_graph_input_sequence", offsetof(struct api, hr_graph_input_sequence)},
    {"hr_graph_if", offsetof(struct api, hr_graph_if)},
    {"hr_graph_loop", offsetof(struct api, hr_graph_loop)},
    {"hr_graph_scan", offsetof(struct api, hr_graph_scan)},
    {"hr_graph_call", offsetof(struct api, hr_graph_call)},
    {"hr_node_spec_body", offsetof(struct api, hr_node_spec_body)},
    {"hr_env_create", offsetof(struct api, hr_env_create)},
    {"hr_env_release", offsetof(struct api, hr_env_release)},
    {"hr_env_load_plugin", offsetof(struct api, hr_env_load_plugin)},
    {"hr_env_describe", offsetof(struct api, hr_env_describe)},
    {"hr_graph_create", offsetof(struct api, hr_graph_create)},
    {"hr_graph_release", offsetof(struct api, hr_graph_release)},
    {"hr_graph_input", offsetof(struct api, hr_graph_input)},
    {"hr_graph_bound", offsetof(struct api, hr_graph_bound)},
    {"hr_graph_constant", offsetof(struct api, hr_graph_constant)},
    {"hr_graph_variable", offsetof(struct api, hr_graph_variable)},
    {"hr_graph_variable_init", offsetof(struct api, hr_graph_variable_init)},
    {"hr_graph_read", offsetof(struct api, hr_graph_read)},
    {"hr_graph_assign", offsetof(struct api, hr_graph_assign)},
    {"hr_graph_assign_add", offsetof(struct api, hr_graph_assign_add)},
    {"hr_graph_set_trainable", offsetof(struct api, hr_graph_set_trainable)},
    {"hr_graph_op", offsetof(struct api, hr_graph_op)},
    {"hr_graph_device", offsetof(struct api, hr_graph_device)},
    {"hr_node_spec_create", offsetof(struct api, hr_node_spec_create)},
    {"hr_node_spec_release", offsetof(struct api, hr_node_spec_release)},
    {"hr_node_spec_name", offsetof(struct api, hr_node_spec_name)},
    {"hr_node_spec_device", offsetof(struct api, hr_node_spec_device)},
    {"hr_node_spec_input", offsetof(struct api, hr_node_spec_input)},
    {"hr_node_spec_control", offsetof(struct api, hr_node_spec_control)},
    {"hr_node_spec_int", offsetof(struct api, hr_node_spec_int)},
    {"hr_node_spec_float", offsetof(struct api, hr_node_spec_float)},
    {"hr_node_spec_string", offsetof(struct api, hr_node_spec_string)},
    {"hr_node_spec_ints", offsetof(struct api, hr_node_spec_ints)},
    {"hr_node_spec_floats", offsetof(struct api, hr_node_spec_floats)},
    {"hr_node_spec_strings", offsetof(struct api, hr_node_spec_strings)},
    {"hr_node_spec_tensor", offsetof(struct api, hr_node_spec_tensor)},
    {"hr_graph_add", offsetof(struct api, hr_graph_add)},
    {"hr_graph_replace", offsetof(struct api, hr_graph_replace)},
    {"hr_graph_name_value", offsetof(struct api, hr_graph_name_value)},
    {"hr_graph_dense", offsetof(struct api, hr_graph_dense)},
    {"hr_graph_conv2d", offsetof(struct api, hr_graph_conv2d)},
    {"hr_graph_batch_norm", offsetof(struct api, hr_graph_batch_norm)},
    {"hr_graph_add_gradients", offsetof(struct api, hr_graph_add_gradients)},
    {"hr_graph_variable_gradients", offsetof(struct api, hr_graph_variable_gradients)},
    {"hr_graph_apply_gradients", offsetof(struct api, hr_graph_apply_gradients)},
    {"hr_graph_minimize", offsetof(struct api, hr_graph_minimize)},
    {"hr_graph_signature_input", offsetof(struct api, hr_graph_signature_input)},
    {"hr_graph_signature_output", offsetof(struct api, hr_graph_signature_output)},
    {"hr_graph_signature_target", offsetof(struct api, hr_graph_signature_target)},
    {"hr_graph_remove_signature", offsetof(struct api, hr_graph_remove_signature)},
    {"hr_graph_prune", offsetof(struct api, hr_graph_prune)},
    {"hr_graph_set_metadata", offsetof(struct api, hr_graph_set_metadata)},
    {"hr_graph_save", offsetof(struct api, hr_graph_save)},
    {"hr_graph_get", offsetof(struct api, hr_graph_get)},
    {"hr_graph_get_value", offsetof(struct api, hr_graph_get_value)},
    {"hr_graph_get_node", offsetof(struct api, hr_graph_get_node)},
    {"hr_graph_get_variable", offsetof(struct api, hr_graph_get_variable)},
    {"hr_graph_get_signature", offsetof(struct api, hr_graph_get_signature)},
    {"hr_graph_get_attribute", offsetof(struct api, hr_graph_get_attribute)},
    {"hr_graph_find_value", offsetof(struct api, hr_graph_find_value)},
    {"hr_graph_find_node", offsetof(struct api, hr_graph_find_node)},
    {"hr_graph_find_variable", offsetof(struct api, hr_graph_find_variable)},
    {"hr_graph_find_signature", offsetof(struct api, hr_graph_find_signature)},
    {"hr_graph_node_int", offsetof(struct api, hr_graph_node_int)},
    {"hr_graph_node_float", offsetof(struct api, hr_graph_node_float)},
    {"hr_graph_node_string", offsetof(struct api, hr_graph_node_string)},
    {"hr_graph_node_ints", offsetof(struct api, hr_graph_node_ints)},
    {"hr_graph_node_floats", offsetof(struct api, hr_graph_node_floats)},
    {"hr_graph_node_strings", offsetof(struct api, hr_graph_node_strings)},
    {"hr_graph_node_tensor", offsetof(struct api, hr_graph_node_tensor)},
    {"hr_graph_value_tensor", offsetof(struct api, hr_graph_value_tensor)},
    {"hr_graph_variable_tensor", offsetof(struct api, hr_graph_variable_tensor)},
    {"hr_graph_type_of", offsetof(struct api, hr_graph_type_of)},
    {"hr_model_load", offsetof(struct api, hr_model_load)},
    {"hr_model_load_memory", offsetof(struct api, hr_model_load_memory)},
    {"hr_model_load_callback", offsetof(struct api, hr_model_load_callback)},
    {"hr_model_from_graph", offsetof(struct api, hr_model_from_graph)},
    {"hr_graph_from_model", offsetof(struct api, hr_graph_from_model)},
    {"hr_model_release", offsetof(struct api, hr_model_release)},
    {"hr_model_convert", offsetof(struct api, hr_model_convert)},
    {"hr_model_export", offsetof(struct api, hr_model_export)},
    {"hr_tensor_load", offsetof(struct api, hr_tensor_load)},
    {"hr_model_describe", offsetof(struct api, hr_model_describe)},
    {"hr_model_view", offsetof(struct api, hr_model_view)},
    {"hr_model_graph_text", offsetof(struct api, hr_model_graph_text)},
    {"hr_model_file_describe", offsetof(struct api, hr_model_file_describe)},
    {"hr_env_add_operator", offsetof(struct api, hr_env_add_operator)},
    {"hr_op_input_count", offsetof(struct api, hr_op_input_count)},
    {"hr_op_output_count", offsetof(struct api, hr_op_output_count)},
    {"hr_op_int", offsetof(struct api, hr_op_int)},
    {"hr_op_float", offsetof(struct api, hr_op_float)},
    {"hr_op_string", offsetof(struct api, hr_op_string)},
    {"hr_op_ints", offsetof(struct api, hr_op_ints)},
    {"hr_op_floats", offsetof(struct api, hr_op_floats)},
    {"hr_op_input_type", offsetof(struct api, hr_op_input_type)},
    {"hr_op_set_output", offsetof(struct api, hr_op_set_output)},
    {"hr_op_set_output_like", offsetof(struct api, hr_op_set_output_like)},
    {"hr_op_input_tensor", offsetof(struct api, hr_op_input_tensor)},
    {"hr_op_output_tensor", offsetof(struct api, hr_op_output_tensor)},
    {"hr_op_parallel_for", offsetof(struct api, hr_op_parallel_for)},
    {"hr_op_input", offsetof(struct api, hr_op_input)},
    {"hr_op_output", offsetof(struct api, hr_op_output)},
    {"hr_op_output_gradient", offsetof(struct api, hr_op_output_gradient)},
    {"hr_op_wants_gradient", offsetof(struct api, hr_op_wants_gradient)},
    {"hr_op_add", offsetof(struct api, hr_op_add)},
    {"hr_op_scalar", offsetof(struct api, hr_op_scalar)},
    {"hr_op_set_gradient", offsetof(struct api, hr_op_set_gradient)},
    {"hr_queue_create", offsetof(struct api, hr_queue_create)},
    {"hr_queue_release", offsetof(struct api, hr_queue_release)},
    {"hr_queue_poll", offsetof(struct api, hr_queue_poll)},
    {"hr_queue_wait", offsetof(struct api, hr_queue_wait)},
    {"hr_queue_descriptor", offsetof(struct api, hr_queue_descriptor)},
    {"hr_session_create", offsetof(struct api, hr_session_create)},
    {"hr_session_close", offsetof(struct api, hr_session_close)},
    {"hr_session_release", offsetof(struct api, hr_session_release)},
    {"hr_session_trim", offsetof(struct api, hr_session_trim)},
    {"hr_session_run", offsetof(struct api, hr_session_run)},
    {"hr_session_variable_count", offsetof(struct api, hr_session_variable_count)},
    {"hr_session_variable_name", offsetof(struct api, hr_session_variable_name)},
    {"hr_session_get_variable", offsetof(struct api, hr_session_get_variable)},
    {"hr_session_set_variable", offsetof(struct api, hr_session_set_variable)},
    {"hr_session_describe", offsetof(struct api, hr_session_describe)},
    {"hr_call_create", offsetof(struct api, hr_call_create)},
    {"hr_call_create_custom", offsetof(struct api, hr_call_create_custom)},
    {"hr_call_release", offsetof(struct api, hr_call_release)},
    {"hr_call_bind", offsetof(struct api, hr_call_bind)},
    {"hr_call_bind_scalar", offsetof(struct api, hr_call_bind_scalar)},
    {"hr_call_output", offsetof(struct api, hr_call_output)},
    {"hr_call_bind_output", offsetof(struct api, hr_call_bind_output)},
    {"hr_call_output_type", offsetof(struct api, hr_call_output_type)},
    {"hr_call_run", offsetof(struct api, hr_call_run)},
    {"hr_call_start", offsetof(struct api, hr_call_start)},
    {"hr_run_release", offsetof(struct api, hr_run_release)},
    {"hr_run_test", offsetof(struct api, hr_run_test)},
    {"hr_run_wait", offsetof(struct api, hr_run_wait)},
    {"hr_run_on_done", offsetof(struct api, hr_run_on_done)},
    {"hr_run_enqueue", offsetof(struct api, hr_run_enqueue)},
    {"hr_run_cancel", offsetof(struct api, hr_run_cancel)},
    {"hr_call_result", offsetof(struct api, hr_call_result)},
    {"hr_call_take_result", offsetof(struct api, hr_call_take_result)},
    {"hr_call_describe", offsetof(struct api, hr_call_describe)},
    {"hr_call_profile", offsetof(struct api, hr_call_profile)},
    {"hr_tensor_create", offsetof(struct api, hr_tensor_create)},
    {"hr_tensor_copy_of", offsetof(struct api, hr_tensor_copy_of)},
    {"hr_tensor_wrap", offsetof(struct api, hr_tensor_wrap)},
    {"hr_tensor_wrap_strided", offsetof(struct api, hr_tensor_wrap_strided)},
    {"hr_tensor_release", offsetof(struct api, hr_tensor_release)},
    {"hr_tensor_share", offsetof(struct api, hr_tensor_share)},
    {"hr_tensor_dtype", offsetof(struct api, hr_tensor_dtype)},
    {"hr_tensor_rank", offsetof(struct api, hr_tensor_rank)},
    {"hr_tensor_dims", offsetof(struct api, hr_tensor_dims)},
    {"hr_tensor_elements", offsetof(struct api, hr_tensor_elements)},
    {"hr_tensor_bytes", offsetof(struct api, hr_tensor_bytes)},
    {"hr_tensor_data", offsetof(struct api, hr_tensor_data)},
    {"hr_tensor_read_only", offsetof(struct api, hr_tensor_read_only)},
    {"hr_tensor_device", offsetof(struct api, hr_tensor_device)},
    {"hr_tensor_device_data", offsetof(struct api, hr_tensor_device_data)},
    {"hr_tensor_strides", offsetof(struct api, hr_tensor_strides)},
    {"hr_tensor_from_dlpack", offsetof(struct api, hr_tensor_from_dlpack)},
    {"hr_tensor_to_dlpack", offsetof(struct api, hr_tensor_to_dlpack)},
    {"hr_dataset_open", offsetof(struct api, hr_dataset_open)},
    {"hr_dataset_from_tensors", offsetof(struct api, hr_dataset_from_tensors)},
    {"hr_dataset_from_callbacks", offsetof(struct api, hr_dataset_from_callbacks)},
    {"hr_dataset_release", offsetof(struct api, hr_dataset_release)},
    {"hr_dataset_done", offsetof(struct api, hr_dataset_done)},
    {"hr_dataset_batches", offsetof(struct api, hr_dataset_batches)},
    {"hr_dataset_rewind", offsetof(struct api, hr_dataset_rewind)},
    {"hr_dataset_field_count", offsetof(struct api, hr_dataset_field_count)},
    {"hr_dataset_field_name", offsetof(struct api, hr_dataset_field_name)},
    {"hr_dataset_next", offsetof(struct api, hr_dataset_next)},
    {"hr_dataset_rename", offsetof(struct api, hr_dataset_rename)},
    {"hr_dataset_describe", offsetof(struct api, hr_dataset_describe)},
    {"hr_dataset_position", offsetof(struct api, hr_dataset_position)},
    {"hr_dataset_seek", offsetof(struct api, hr_dataset_seek)},
    {"hr_dataset_reshard", offsetof(struct api, hr_dataset_reshard)},
    {"hr_dataset_map", offsetof(struct api, hr_dataset_map)},
    {"hr_dataset_filter", offsetof(struct api, hr_dataset_filter)},
    {"hr_dataset_cache", offsetof(struct api, hr_dataset_cache)},
    {"hr_call_bind_dataset", offsetof(struct api, hr_call_bind_dataset)},
    {"hr_session_save", offsetof(struct api, hr_session_save)},
    {"hr_session_restore", offsetof(struct api, hr_session_restore)},
    {"hr_session_step", offsetof(struct api, hr_session_step)},
    {"hr_checkpoint_describe", offsetof(struct api, hr_checkpoint_describe)},
    {"hr_weights_describe", offsetof(struct api, hr_weights_describe)},
    {"hr_session_export_weights", offsetof(struct api, hr_session_export_weights)},
    {"hr_session_import_weights", offsetof(struct api, hr_session_import_weights)},
    {"hr_session_export", offsetof(struct api, hr_session_export)},
    {"hr_session_save_adapters", offsetof(struct api, hr_session_save_adapters)},
    {"hr_session_load_adapters", offsetof(struct api, hr_session_load_adapters)},
    {"hr_summary_open", offsetof(struct api, hr_summary_open)},
    {"hr_summary_release", offsetof(struct api, hr_summary_release)},
    {"hr_summary_scalar", offsetof(struct api, hr_summary_scalar)},
    {"hr_summary_histogram", offsetof(struct api, hr_summary_histogram)},
    {"hr_summary_images", offsetof(struct api, hr_summary_images)},
    {"hr_summary_text", offsetof(struct api, hr_summary_text)},
    {"hr_summary_graph", offsetof(struct api, hr_summary_graph)},
    {"hr_summary_flush", offsetof(struct api, hr_summary_flush)},
    {"hr_train", offsetof(struct api, hr_train)},
    {"hr_evaluate", offsetof(struct api, hr_evaluate)},
    {"hr_evaluate_metrics", offsetof(struct api, hr_evaluate_metrics)},
    {"hr_graph_quantize", offsetof(struct api, hr_graph_quantize)},
    {"hr_progress_create", offsetof(struct api, hr_progress_create)},
    {"hr_progress_update", offsetof(struct api, hr_progress_update)},
    {"hr_progress_message", offsetof(struct api, hr_progress_message)},
    {"hr_progress_release", offsetof(struct api, hr_progress_release)},
    {"hr_graph_schedule", offsetof(struct api, hr_graph_schedule)},
    {"hr_graph_clip_gradients", offsetof(struct api, hr_graph_clip_gradients)},
    {"hr_graph_set_trainable_matching", offsetof(struct api, hr_graph_set_trainable_matching)},
    {"hr_graph_minimize_groups", offsetof(struct api, hr_graph_minimize_groups)},
    {"hr_graph_average_signature", offsetof(struct api, hr_graph_average_signature)},
    {"hr_graph_swap_averages", offsetof(struct api, hr_graph_swap_averages)},
    {"hr_graph_copy_signature", offsetof(struct api, hr_graph_copy_signature)},
    {"hr_graph_metric", offsetof(struct api, hr_graph_metric)},
    {"hr_graph_distribute", offsetof(struct api, hr_graph_distribute)},
    {"hr_graph_add_lora", offsetof(struct api, hr_graph_add_lora)},
    {"hr_graph_load_adapters", offsetof(struct api, hr_graph_load_adapters)},
};

const char* raw_find_functions(void* library) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    void* found = dlsym(library, functions[i].name);
    if (found == NULL) return functions[i].name;
    *(void**)((char*)&api + functions[i].offset) = found;
  }
  return NULL;
}

hr_status* raw_failure(hr_code code, const char* message) {
  return api.hr_status_create(code, message);
}

/* ---- The layout that Structs.java relies on ---- */

_Static_assert(sizeof(hr_limits) == 40, "hr_limits");
_Static_assert(offsetof(hr_limits, struct_size) == 0, "hr_limits");
_Static_assert(offsetof(hr_limits, cancel) == 8, "hr_limits");
_Static_assert(offsetof(hr_limits, timeout_nanos) == 16, "hr_limits");
_Static_assert(offsetof(hr_limits, interrupted) == 24, "hr_limits");
_Static_assert(offsetof(hr_limits, context) == 32, "hr_limits");
_Static_assert(sizeof(hr_store_options) == 24, "hr_store_options");
_Static_assert(offsetof(hr_store_options, struct_size) == 0, "hr_store_options");
_Static_assert(offsetof(hr_store_options, serve) == 8, "hr_store_options");
_Static_assert(offsetof(hr_store_options, trusted_fabric) == 12, "hr_store_options");
_Static_assert(offsetof(hr_store_options, secret) == 16, "hr_store_options");
_Static_assert(sizeof(hr_store_callbacks) == 48, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, struct_size) == 0, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, context) == 8, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, get) == 16, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, compare_and_swap) == 24, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, remove) == 32, "hr_store_callbacks");
_Static_assert(offsetof(hr_store_callbacks, release) == 40, "hr_store_callbacks");
_Static_assert(sizeof(hr_group_options) == 120, "hr_group_options");
_Static_assert(offsetof(hr_group_options, struct_size) == 0, "hr_group_options");
_Static_assert(offsetof(hr_group_options, rank) == 8, "hr_group_options");
_Static_assert(offsetof(hr_group_options, size) == 12, "hr_group_options");
_Static_assert(offsetof(hr_group_options, epoch) == 16, "hr_group_options");
_Static_assert(offsetof(hr_group_options, name) == 24, "hr_group_options");
_Static_assert(offsetof(hr_group_options, store) == 32, "hr_group_options");
_Static_assert(offsetof(hr_group_options, store_url) == 40, "hr_group_options");
_Static_assert(offsetof(hr_group_options, transport) == 48, "hr_group_options");
_Static_assert(offsetof(hr_group_options, address) == 56, "hr_group_options");
_Static_assert(offsetof(hr_group_options, trusted_fabric) == 64, "hr_group_options");
_Static_assert(offsetof(hr_group_options, timeout_nanos) == 72, "hr_group_options");
_Static_assert(offsetof(hr_group_options, silence_nanos) == 80, "hr_group_options");
_Static_assert(offsetof(hr_group_options, algorithms) == 88, "hr_group_options");
_Static_assert(offsetof(hr_group_options, dump_folder) == 96, "hr_group_options");
_Static_assert(offsetof(hr_group_options, secret) == 104, "hr_group_options");
_Static_assert(offsetof(hr_group_options, calibration) == 112, "hr_group_options");
_Static_assert(sizeof(hr_operation) == 64, "hr_operation");
_Static_assert(offsetof(hr_operation, struct_size) == 0, "hr_operation");
_Static_assert(offsetof(hr_operation, kind) == 8, "hr_operation");
_Static_assert(offsetof(hr_operation, dtype) == 12, "hr_operation");
_Static_assert(offsetof(hr_operation, count) == 16, "hr_operation");
_Static_assert(offsetof(hr_operation, input) == 24, "hr_operation");
_Static_assert(offsetof(hr_operation, output) == 32, "hr_operation");
_Static_assert(offsetof(hr_operation, op) == 40, "hr_operation");
_Static_assert(offsetof(hr_operation, peer) == 44, "hr_operation");
_Static_assert(offsetof(hr_operation, tag) == 48, "hr_operation");
_Static_assert(offsetof(hr_operation, factor) == 56, "hr_operation");
_Static_assert(sizeof(hr_allocator) == 40, "hr_allocator");
_Static_assert(offsetof(hr_allocator, struct_size) == 0, "hr_allocator");
_Static_assert(offsetof(hr_allocator, context) == 8, "hr_allocator");
_Static_assert(offsetof(hr_allocator, allocate) == 16, "hr_allocator");
_Static_assert(offsetof(hr_allocator, deallocate) == 24, "hr_allocator");
_Static_assert(offsetof(hr_allocator, release) == 32, "hr_allocator");
_Static_assert(sizeof(hr_log_sink) == 32, "hr_log_sink");
_Static_assert(offsetof(hr_log_sink, struct_size) == 0, "hr_log_sink");
_Static_assert(offsetof(hr_log_sink, context) == 8, "hr_log_sink");
_Static_assert(offsetof(hr_log_sink, write) == 16, "hr_log_sink");
_Static_assert(offsetof(hr_log_sink, release) == 24, "hr_log_sink");
_Static_assert(sizeof(hr_clock) == 32, "hr_clock");
_Static_assert(offsetof(hr_clock, struct_size) == 0, "hr_clock");
_Static_assert(offsetof(hr_clock, context) == 8, "hr_clock");
_Static_assert(offsetof(hr_clock, now_nanos) == 16, "hr_clock");
_Static_assert(offsetof(hr_clock, release) == 24, "hr_clock");
_Static_assert(sizeof(hr_executor) == 40, "hr_executor");
_Static_assert(offsetof(hr_executor, struct_size) == 0, "hr_executor");
_Static_assert(offsetof(hr_executor, context) == 8, "hr_executor");
_Static_assert(offsetof(hr_executor, concurrency) == 16, "hr_executor");
_Static_assert(offsetof(hr_executor, parallel_for) == 24, "hr_executor");
_Static_assert(offsetof(hr_executor, release) == 32, "hr_executor");
_Static_assert(sizeof(hr_env_options) == 56, "hr_env_options");
_Static_assert(offsetof(hr_env_options, struct_size) == 0, "hr_env_options");
_Static_assert(offsetof(hr_env_options, allocator) == 8, "hr_env_options");
_Static_assert(offsetof(hr_env_options, log) == 16, "hr_env_options");
_Static_assert(offsetof(hr_env_options, clock) == 24, "hr_env_options");
_Static_assert(offsetof(hr_env_options, executor) == 32, "hr_env_options");
_Static_assert(offsetof(hr_env_options, threads) == 40, "hr_env_options");
_Static_assert(offsetof(hr_env_options, cost_table) == 48, "hr_env_options");
_Static_assert(sizeof(hr_save_options) == 32, "hr_save_options");
_Static_assert(offsetof(hr_save_options, struct_size) == 0, "hr_save_options");
_Static_assert(offsetof(hr_save_options, strip_names) == 8, "hr_save_options");
_Static_assert(offsetof(hr_save_options, side_file) == 16, "hr_save_options");
_Static_assert(offsetof(hr_save_options, merge_adapters) == 24, "hr_save_options");
_Static_assert(sizeof(hr_graph_info) == 56, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, struct_size) == 0, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, value_count) == 8, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, node_count) == 16, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, variable_count) == 24, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, signature_count) == 32, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, input_count) == 40, "hr_graph_info");
_Static_assert(offsetof(hr_graph_info, inputs) == 48, "hr_graph_info");
_Static_assert(sizeof(hr_value_info) == 48, "hr_value_info");
_Static_assert(offsetof(hr_value_info, struct_size) == 0, "hr_value_info");
_Static_assert(offsetof(hr_value_info, name) == 8, "hr_value_info");
_Static_assert(offsetof(hr_value_info, dtype) == 16, "hr_value_info");
_Static_assert(offsetof(hr_value_info, rank) == 20, "hr_value_info");
_Static_assert(offsetof(hr_value_info, dims) == 24, "hr_value_info");
_Static_assert(offsetof(hr_value_info, symbols) == 32, "hr_value_info");
_Static_assert(offsetof(hr_value_info, producer) == 40, "hr_value_info");
_Static_assert(offsetof(hr_value_info, is_constant) == 44, "hr_value_info");
_Static_assert(sizeof(hr_node_info) == 96, "hr_node_info");
_Static_assert(offsetof(hr_node_info, struct_size) == 0, "hr_node_info");
_Static_assert(offsetof(hr_node_info, name) == 8, "hr_node_info");
_Static_assert(offsetof(hr_node_info, op) == 16, "hr_node_info");
_Static_assert(offsetof(hr_node_info, version) == 24, "hr_node_info");
_Static_assert(offsetof(hr_node_info, device) == 32, "hr_node_info");
_Static_assert(offsetof(hr_node_info, input_count) == 40, "hr_node_info");
_Static_assert(offsetof(hr_node_info, inputs) == 48, "hr_node_info");
_Static_assert(offsetof(hr_node_info, output_count) == 56, "hr_node_info");
_Static_assert(offsetof(hr_node_info, outputs) == 64, "hr_node_info");
_Static_assert(offsetof(hr_node_info, control_count) == 72, "hr_node_info");
_Static_assert(offsetof(hr_node_info, controls) == 80, "hr_node_info");
_Static_assert(offsetof(hr_node_info, attribute_count) == 88, "hr_node_info");
_Static_assert(sizeof(hr_variable_info) == 40, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, struct_size) == 0, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, name) == 8, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, dtype) == 16, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, rank) == 20, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, dims) == 24, "hr_variable_info");
_Static_assert(offsetof(hr_variable_info, trainable) == 32, "hr_variable_info");
_Static_assert(sizeof(hr_signature_info) == 80, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, struct_size) == 0, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, name) == 8, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, input_count) == 16, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, input_names) == 24, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, inputs) == 32, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, output_count) == 40, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, output_names) == 48, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, outputs) == 56, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, target_count) == 64, "hr_signature_info");
_Static_assert(offsetof(hr_signature_info, targets) == 72, "hr_signature_info");
_Static_assert(sizeof(hr_attribute_info) == 24, "hr_attribute_info");
_Static_assert(offsetof(hr_attribute_info, struct_size) == 0, "hr_attribute_info");
_Static_assert(offsetof(hr_attribute_info, name) == 8, "hr_attribute_info");
_Static_assert(offsetof(hr_attribute_info, kind) == 16, "hr_attribute_info");
_Static_assert(sizeof(hr_load_options) == 24, "hr_load_options");
_Static_assert(offsetof(hr_load_options, struct_size) == 0, "hr_load_options");
_Static_assert(offsetof(hr_load_options, read_whole_file) == 8, "hr_load_options");
_Static_assert(offsetof(hr_load_options, verify_checksums) == 12, "hr_load_options");
_Static_assert(offsetof(hr_load_options, inspect_only) == 16, "hr_load_options");
_Static_assert(sizeof(hr_reader) == 40, "hr_reader");
_Static_assert(offsetof(hr_reader, struct_size) == 0, "hr_reader");
_Static_assert(offsetof(hr_reader, context) == 8, "hr_reader");
_Static_assert(offsetof(hr_reader, total_bytes) == 16, "hr_reader");
_Static_assert(offsetof(hr_reader, read) == 24, "hr_reader");
_Static_assert(offsetof(hr_reader, release) == 32, "hr_reader");
_Static_assert(sizeof(hr_convert_options) == 16, "hr_convert_options");
_Static_assert(offsetof(hr_convert_options, struct_size) == 0, "hr_convert_options");
_Static_assert(offsetof(hr_convert_options, constants) == 8, "hr_convert_options");
_Static_assert(offsetof(hr_convert_options, simplify) == 12, "hr_convert_options");
_Static_assert(sizeof(hr_export_options) == 24, "hr_export_options");
_Static_assert(offsetof(hr_export_options, struct_size) == 0, "hr_export_options");
_Static_assert(offsetof(hr_export_options, external_data) == 8, "hr_export_options");
_Static_assert(offsetof(hr_export_options, signature) == 16, "hr_export_options");
_Static_assert(sizeof(hr_graph_view) == 24, "hr_graph_view");
_Static_assert(offsetof(hr_graph_view, struct_size) == 0, "hr_graph_view");
_Static_assert(offsetof(hr_graph_view, signature) == 8, "hr_graph_view");
_Static_assert(offsetof(hr_graph_view, graph) == 16, "hr_graph_view");
_Static_assert(sizeof(hr_op_tensor) == 32, "hr_op_tensor");
_Static_assert(offsetof(hr_op_tensor, dtype) == 0, "hr_op_tensor");
_Static_assert(offsetof(hr_op_tensor, rank) == 8, "hr_op_tensor");
_Static_assert(offsetof(hr_op_tensor, dims) == 16, "hr_op_tensor");
_Static_assert(offsetof(hr_op_tensor, data) == 24, "hr_op_tensor");
_Static_assert(sizeof(hr_operator_attribute) == 24, "hr_operator_attribute");
_Static_assert(offsetof(hr_operator_attribute, struct_size) == 0, "hr_operator_attribute");
_Static_assert(offsetof(hr_operator_attribute, name) == 8, "hr_operator_attribute");
_Static_assert(offsetof(hr_operator_attribute, kind) == 16, "hr_operator_attribute");
_Static_assert(offsetof(hr_operator_attribute, required) == 20, "hr_operator_attribute");
_Static_assert(sizeof(hr_operator) == 96, "hr_operator");
_Static_assert(offsetof(hr_operator, struct_size) == 0, "hr_operator");
_Static_assert(offsetof(hr_operator, name) == 8, "hr_operator");
_Static_assert(offsetof(hr_operator, version) == 16, "hr_operator");
_Static_assert(offsetof(hr_operator, min_inputs) == 20, "hr_operator");
_Static_assert(offsetof(hr_operator, max_inputs) == 24, "hr_operator");
_Static_assert(offsetof(hr_operator, min_outputs) == 28, "hr_operator");
_Static_assert(offsetof(hr_operator, max_outputs) == 32, "hr_operator");
_Static_assert(offsetof(hr_operator, attribute_count) == 40, "hr_operator");
_Static_assert(offsetof(hr_operator, attributes) == 48, "hr_operator");
_Static_assert(offsetof(hr_operator, context) == 56, "hr_operator");
_Static_assert(offsetof(hr_operator, release) == 64, "hr_operator");
_Static_assert(offsetof(hr_operator, infer) == 72, "hr_operator");
_Static_assert(offsetof(hr_operator, compute) == 80, "hr_operator");
_Static_assert(offsetof(hr_operator, gradient) == 88, "hr_operator");
_Static_assert(sizeof(hr_completion) == 24, "hr_completion");
_Static_assert(offsetof(hr_completion, struct_size) == 0, "hr_completion");
_Static_assert(offsetof(hr_completion, key) == 8, "hr_completion");
_Static_assert(offsetof(hr_completion, failure) == 16, "hr_completion");
_Static_assert(sizeof(hr_session_options) == 64, "hr_session_options");
_Static_assert(offsetof(hr_session_options, struct_size) == 0, "hr_session_options");
_Static_assert(offsetof(hr_session_options, seed) == 8, "hr_session_options");
_Static_assert(offsetof(hr_session_options, max_plans) == 16, "hr_session_options");
_Static_assert(offsetof(hr_session_options, disable_fusion) == 20, "hr_session_options");
_Static_assert(offsetof(hr_session_options, device) == 24, "hr_session_options");
_Static_assert(offsetof(hr_session_options, max_sizes) == 32, "hr_session_options");
_Static_assert(offsetof(hr_session_options, check_memory) == 36, "hr_session_options");
_Static_assert(offsetof(hr_session_options, exact_sums) == 40, "hr_session_options");
_Static_assert(offsetof(hr_session_options, memory_limit) == 48, "hr_session_options");
_Static_assert(offsetof(hr_session_options, pin) == 56, "hr_session_options");
_Static_assert(sizeof(hr_dlpack_device) == 8, "hr_dlpack_device");
_Static_assert(offsetof(hr_dlpack_device, device_type) == 0, "hr_dlpack_device");
_Static_assert(offsetof(hr_dlpack_device, device_id) == 4, "hr_dlpack_device");
_Static_assert(sizeof(hr_dlpack_dtype) == 4, "hr_dlpack_dtype");
_Static_assert(offsetof(hr_dlpack_dtype, code) == 0, "hr_dlpack_dtype");
_Static_assert(offsetof(hr_dlpack_dtype, bits) == 1, "hr_dlpack_dtype");
_Static_assert(offsetof(hr_dlpack_dtype, lanes) == 2, "hr_dlpack_dtype");
_Static_assert(sizeof(hr_dlpack_version) == 8, "hr_dlpack_version");
_Static_assert(offsetof(hr_dlpack_version, major) == 0, "hr_dlpack_version");
_Static_assert(offsetof(hr_dlpack_version, minor) == 4, "hr_dlpack_version");
_Static_assert(sizeof(hr_dlpack_tensor) == 48, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, data) == 0, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, device) == 8, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, ndim) == 16, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, dtype) == 20, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, shape) == 24, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, strides) == 32, "hr_dlpack_tensor");
_Static_assert(offsetof(hr_dlpack_tensor, byte_offset) == 40, "hr_dlpack_tensor");
_Static_assert(sizeof(hr_dlpack) == 80, "hr_dlpack");
_Static_assert(offsetof(hr_dlpack, version) == 0, "hr_dlpack");
_Static_assert(offsetof(hr_dlpack, manager_ctx) == 8, "hr_dlpack");
_Static_assert(offsetof(hr_dlpack, deleter) == 16, "hr_dlpack");
_Static_assert(offsetof(hr_dlpack, flags) == 24, "hr_dlpack");
_Static_assert(offsetof(hr_dlpack, dl_tensor) == 32, "hr_dlpack");
_Static_assert(sizeof(hr_dataset_options) == 56, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, struct_size) == 0, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, batch) == 8, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, repeat) == 16, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, shuffle) == 24, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, drop_remainder) == 28, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, seed) == 32, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, prefetch) == 40, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, shard_index) == 48, "hr_dataset_options");
_Static_assert(offsetof(hr_dataset_options, shard_count) == 52, "hr_dataset_options");
_Static_assert(sizeof(hr_dataset_callbacks) == 48, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, struct_size) == 0, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, context) == 8, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, next) == 16, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, seek) == 24, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, release) == 32, "hr_dataset_callbacks");
_Static_assert(offsetof(hr_dataset_callbacks, examples) == 40, "hr_dataset_callbacks");
_Static_assert(sizeof(hr_dataset_field) == 40, "hr_dataset_field");
_Static_assert(offsetof(hr_dataset_field, struct_size) == 0, "hr_dataset_field");
_Static_assert(offsetof(hr_dataset_field, name) == 8, "hr_dataset_field");
_Static_assert(offsetof(hr_dataset_field, dtype) == 16, "hr_dataset_field");
_Static_assert(offsetof(hr_dataset_field, rank) == 24, "hr_dataset_field");
_Static_assert(offsetof(hr_dataset_field, dims) == 32, "hr_dataset_field");
_Static_assert(sizeof(hr_cache_options) == 32, "hr_cache_options");
_Static_assert(offsetof(hr_cache_options, struct_size) == 0, "hr_cache_options");
_Static_assert(offsetof(hr_cache_options, path) == 8, "hr_cache_options");
_Static_assert(offsetof(hr_cache_options, key) == 16, "hr_cache_options");
_Static_assert(offsetof(hr_cache_options, options) == 24, "hr_cache_options");
_Static_assert(sizeof(hr_checkpoint_options) == 32, "hr_checkpoint_options");
_Static_assert(offsetof(hr_checkpoint_options, struct_size) == 0, "hr_checkpoint_options");
_Static_assert(offsetof(hr_checkpoint_options, keep) == 8, "hr_checkpoint_options");
_Static_assert(offsetof(hr_checkpoint_options, dataset) == 16, "hr_checkpoint_options");
_Static_assert(offsetof(hr_checkpoint_options, group) == 24, "hr_checkpoint_options");
_Static_assert(sizeof(hr_weights_options) == 24, "hr_weights_options");
_Static_assert(offsetof(hr_weights_options, struct_size) == 0, "hr_weights_options");
_Static_assert(offsetof(hr_weights_options, partial) == 8, "hr_weights_options");
_Static_assert(offsetof(hr_weights_options, trainable) == 12, "hr_weights_options");
_Static_assert(offsetof(hr_weights_options, names) == 16, "hr_weights_options");
_Static_assert(sizeof(hr_train_report) == 104, "hr_train_report");
_Static_assert(offsetof(hr_train_report, struct_size) == 0, "hr_train_report");
_Static_assert(offsetof(hr_train_report, step) == 8, "hr_train_report");
_Static_assert(offsetof(hr_train_report, epoch) == 16, "hr_train_report");
_Static_assert(offsetof(hr_train_report, loss) == 24, "hr_train_report");
_Static_assert(offsetof(hr_train_report, examples_per_second) == 32, "hr_train_report");
_Static_assert(offsetof(hr_train_report, evaluated) == 40, "hr_train_report");
_Static_assert(offsetof(hr_train_report, evaluation_loss) == 48, "hr_train_report");
_Static_assert(offsetof(hr_train_report, evaluation_accuracy) == 56, "hr_train_report");
_Static_assert(offsetof(hr_train_report, examples) == 64, "hr_train_report");
_Static_assert(offsetof(hr_train_report, learning_rate) == 72, "hr_train_report");
_Static_assert(offsetof(hr_train_report, best) == 80, "hr_train_report");
_Static_assert(offsetof(hr_train_report, best_step) == 88, "hr_train_report");
_Static_assert(offsetof(hr_train_report, stopped_early) == 96, "hr_train_report");
_Static_assert(sizeof(hr_train_options) == 208, "hr_train_options");
_Static_assert(offsetof(hr_train_options, struct_size) == 0, "hr_train_options");
_Static_assert(offsetof(hr_train_options, train_signature) == 8, "hr_train_options");
_Static_assert(offsetof(hr_train_options, eval_signature) == 16, "hr_train_options");
_Static_assert(offsetof(hr_train_options, train_data) == 24, "hr_train_options");
_Static_assert(offsetof(hr_train_options, eval_data) == 32, "hr_train_options");
_Static_assert(offsetof(hr_train_options, max_steps) == 40, "hr_train_options");
_Static_assert(offsetof(hr_train_options, scalar_count) == 48, "hr_train_options");
_Static_assert(offsetof(hr_train_options, scalar_names) == 56, "hr_train_options");
_Static_assert(offsetof(hr_train_options, scalars) == 64, "hr_train_options");
_Static_assert(offsetof(hr_train_options, checkpoint_directory) == 72, "hr_train_options");
_Static_assert(offsetof(hr_train_options, checkpoint_steps) == 80, "hr_train_options");
_Static_assert(offsetof(hr_train_options, keep_checkpoints) == 88, "hr_train_options");
_Static_assert(offsetof(hr_train_options, event_directory) == 96, "hr_train_options");
_Static_assert(offsetof(hr_train_options, summary_steps) == 104, "hr_train_options");
_Static_assert(offsetof(hr_train_options, eval_steps) == 112, "hr_train_options");
_Static_assert(offsetof(hr_train_options, on_step) == 120, "hr_train_options");
_Static_assert(offsetof(hr_train_options, on_message) == 128, "hr_train_options");
_Static_assert(offsetof(hr_train_options, context) == 136, "hr_train_options");
_Static_assert(offsetof(hr_train_options, group) == 144, "hr_train_options");
_Static_assert(offsetof(hr_train_options, best_metric) == 152, "hr_train_options");
_Static_assert(offsetof(hr_train_options, best_is_smallest) == 160, "hr_train_options");
_Static_assert(offsetof(hr_train_options, restore_best) == 164, "hr_train_options");
_Static_assert(offsetof(hr_train_options, patience) == 168, "hr_train_options");
_Static_assert(offsetof(hr_train_options, on_evaluate) == 176, "hr_train_options");
_Static_assert(offsetof(hr_train_options, bound_group) == 184, "hr_train_options");
_Static_assert(offsetof(hr_train_options, elastic_group) == 192, "hr_train_options");
_Static_assert(offsetof(hr_train_options, min_ranks) == 200, "hr_train_options");
_Static_assert(offsetof(hr_train_options, max_ranks) == 204, "hr_train_options");
_Static_assert(sizeof(hr_parameter_group) == 32, "hr_parameter_group");
_Static_assert(offsetof(hr_parameter_group, struct_size) == 0, "hr_parameter_group");
_Static_assert(offsetof(hr_parameter_group, patterns) == 8, "hr_parameter_group");
_Static_assert(offsetof(hr_parameter_group, optimizer) == 16, "hr_parameter_group");
_Static_assert(offsetof(hr_parameter_group, learning_rate) == 24, "hr_parameter_group");

/* ---- Functions of C, called by Java ---- */

static jint JNICALL raw_hr_api_version(JNIEnv* jni, jclass raw) {
  (void)jni, (void)raw;
  return (jint)api.hr_api_version();
}

static jlong JNICALL raw_hr_version_text(JNIEnv* jni, jclass raw) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_version_text();
}

static jint JNICALL raw_hr_status_code(JNIEnv* jni, jclass raw, jlong status) {
  (void)jni, (void)raw;
  return (jint)api.hr_status_code(POINTER(const hr_status*, status));
}

static jlong JNICALL raw_hr_status_message(JNIEnv* jni, jclass raw, jlong status) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_status_message(POINTER(const hr_status*, status));
}

static jlong JNICALL raw_hr_status_node(JNIEnv* jni, jclass raw, jlong status) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_status_node(POINTER(const hr_status*, status));
}

static jlong JNICALL raw_hr_status_create(JNIEnv* jni, jclass raw, jint code, jlong message) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_status_create((hr_code)code, POINTER(const char*, message));
}

static void JNICALL raw_hr_status_release(JNIEnv* jni, jclass raw, jlong status) {
  (void)jni, (void)raw;
  api.hr_status_release(POINTER(hr_status*, status));
}

static jlong JNICALL raw_hr_code_name(JNIEnv* jni, jclass raw, jint code) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_code_name((hr_code)code);
}

static jlong JNICALL raw_hr_text_data(JNIEnv* jni, jclass raw, jlong text) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_text_data(POINTER(const hr_text*, text));
}

static jlong JNICALL raw_hr_text_size(JNIEnv* jni, jclass raw, jlong text) {
  (void)jni, (void)raw;
  return (jlong)api.hr_text_size(POINTER(const hr_text*, text));
}

static void JNICALL raw_hr_text_release(JNIEnv* jni, jclass raw, jlong text) {
  (void)jni, (void)raw;
  api.hr_text_release(POINTER(hr_text*, text));
}

static jlong JNICALL raw_hr_cancel_create(JNIEnv* jni, jclass raw, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_cancel_create(POINTER(hr_cancel**, out));
}

static void JNICALL raw_hr_cancel_trigger(JNIEnv* jni, jclass raw, jlong cancel) {
  (void)jni, (void)raw;
  api.hr_cancel_trigger(POINTER(hr_cancel*, cancel));
}

static void JNICALL raw_hr_cancel_release(JNIEnv* jni, jclass raw, jlong cancel) {
  (void)jni, (void)raw;
  api.hr_cancel_release(POINTER(hr_cancel*, cancel));
}

static jlong JNICALL raw_hr_dtype_size(JNIEnv* jni, jclass raw, jint dtype) {
  (void)jni, (void)raw;
  return (jlong)api.hr_dtype_size((hr_dtype)dtype);
}

static jlong JNICALL raw_hr_dtype_name(JNIEnv* jni, jclass raw, jint dtype) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dtype_name((hr_dtype)dtype);
}

static jlong JNICALL raw_hr_launch_from_environment(JNIEnv* jni, jclass raw, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_launch_from_environment(POINTER(hr_launch**, out));
}

static void JNICALL raw_hr_launch_release(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  api.hr_launch_release(POINTER(hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_rank(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_rank(POINTER(const hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_size(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_size(POINTER(const hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_local_rank(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_local_rank(POINTER(const hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_local_size(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_local_size(POINTER(const hr_launch*, launch));
}

static jlong JNICALL raw_hr_launch_epoch(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jlong)api.hr_launch_epoch(POINTER(const hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_min_ranks(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_min_ranks(POINTER(const hr_launch*, launch));
}

static jint JNICALL raw_hr_launch_max_ranks(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jint)api.hr_launch_max_ranks(POINTER(const hr_launch*, launch));
}

static jlong JNICALL raw_hr_launch_store(JNIEnv* jni, jclass raw, jlong launch) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_launch_store(POINTER(const hr_launch*, launch));
}

static jlong JNICALL raw_hr_launch_describe(JNIEnv* jni, jclass raw, jlong launch, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_launch_describe(POINTER(const hr_launch*, launch), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_store_open(JNIEnv* jni, jclass raw, jlong env, jlong url, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_store_open(POINTER(hr_env*, env), POINTER(const char*, url), POINTER(hr_store**, out));
}

static jlong JNICALL raw_hr_store_open_with(JNIEnv* jni, jclass raw, jlong env, jlong url, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_store_open_with(POINTER(hr_env*, env), POINTER(const char*, url), POINTER(const hr_store_options*, options), POINTER(hr_store**, out));
}

static jlong JNICALL raw_hr_store_url(JNIEnv* jni, jclass raw, jlong store, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_store_url(POINTER(const hr_store*, store), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_store_from_callbacks(JNIEnv* jni, jclass raw, jlong callbacks, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_store_from_callbacks(POINTER(const hr_store_callbacks*, callbacks), POINTER(hr_store**, out));
}

static void JNICALL raw_hr_store_release(JNIEnv* jni, jclass raw, jlong store) {
  (void)jni, (void)raw;
  api.hr_store_release(POINTER(hr_store*, store));
}

static jlong JNICALL raw_hr_group_create(JNIEnv* jni, jclass raw, jlong env, jlong options, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_create(POINTER(hr_env*, env), POINTER(const hr_group_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_group**, out));
}

static void JNICALL raw_hr_group_release(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  api.hr_group_release(POINTER(hr_group*, group));
}

static void JNICALL raw_hr_group_close(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  api.hr_group_close(POINTER(hr_group*, group));
}

static jlong JNICALL raw_hr_group_abort(JNIEnv* jni, jclass raw, jlong group, jlong cause) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_abort(POINTER(hr_group*, group), POINTER(const char*, cause));
}

static jint JNICALL raw_hr_group_rank(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  return (jint)api.hr_group_rank(POINTER(const hr_group*, group));
}

static jint JNICALL raw_hr_group_size(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  return (jint)api.hr_group_size(POINTER(const hr_group*, group));
}

static jlong JNICALL raw_hr_group_epoch(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  return (jlong)api.hr_group_epoch(POINTER(const hr_group*, group));
}

static jlong JNICALL raw_hr_group_status(JNIEnv* jni, jclass raw, jlong group) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_status(POINTER(hr_group*, group));
}

static jlong JNICALL raw_hr_group_describe(JNIEnv* jni, jclass raw, jlong group, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_describe(POINTER(hr_group*, group), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_group_dump(JNIEnv* jni, jclass raw, jlong group, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_dump(POINTER(hr_group*, group), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_dump_read(JNIEnv* jni, jclass raw, jlong path, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dump_read(POINTER(const char*, path), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_group_split(JNIEnv* jni, jclass raw, jlong group, jint color, jint key, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_split(POINTER(hr_group*, group), (int32_t)color, (int32_t)key, POINTER(const hr_limits*, limits), POINTER(hr_group**, out));
}

static jlong JNICALL raw_hr_group_shrink(JNIEnv* jni, jclass raw, jlong group, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_shrink(POINTER(hr_group*, group), POINTER(const hr_limits*, limits), POINTER(hr_group**, out));
}

static jlong JNICALL raw_hr_group_grow(JNIEnv* jni, jclass raw, jlong group, jint new_size, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_grow(POINTER(hr_group*, group), (int32_t)new_size, POINTER(const hr_limits*, limits), POINTER(hr_group**, out));
}

static jlong JNICALL raw_hr_group_waiting(JNIEnv* jni, jclass raw, jlong group, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_waiting(POINTER(hr_group*, group), POINTER(const hr_limits*, limits), POINTER(int32_t*, out));
}

static jlong JNICALL raw_hr_group_join(JNIEnv* jni, jclass raw, jlong env, jlong options, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_join(POINTER(hr_env*, env), POINTER(const hr_group_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_group**, out));
}

static jlong JNICALL raw_hr_send(JNIEnv* jni, jclass raw, jlong group, jlong data, jlong count, jint dtype, jint to, jint tag, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_send(POINTER(hr_group*, group), POINTER(const void*, data), (uint64_t)count, (hr_dtype)dtype, (int32_t)to, (uint32_t)tag, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_recv(JNIEnv* jni, jclass raw, jlong group, jlong data, jlong count, jint dtype, jint from, jint tag, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_recv(POINTER(hr_group*, group), POINTER(void*, data), (uint64_t)count, (hr_dtype)dtype, (int32_t)from, (uint32_t)tag, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_barrier(JNIEnv* jni, jclass raw, jlong group, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_barrier(POINTER(hr_group*, group), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_broadcast(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_broadcast(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_reduce(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jint root, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_reduce(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, (int32_t)root, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_all_reduce(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_reduce(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_gather(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_gather(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_all_gather(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_gather(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_scatter(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_scatter(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_reduce_scatter(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_reduce_scatter(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_all_to_all(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_to_all(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, POINTER(const hr_limits*, limits));
}

static void JNICALL raw_hr_work_release(JNIEnv* jni, jclass raw, jlong work) {
  (void)jni, (void)raw;
  api.hr_work_release(POINTER(hr_work*, work));
}

static jint JNICALL raw_hr_work_test(JNIEnv* jni, jclass raw, jlong work) {
  (void)jni, (void)raw;
  return (jint)api.hr_work_test(POINTER(hr_work*, work));
}

static jlong JNICALL raw_hr_work_wait(JNIEnv* jni, jclass raw, jlong work, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_work_wait(POINTER(hr_work*, work), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_work_on_done(JNIEnv* jni, jclass raw, jlong work, jlong callback, jlong context) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_work_on_done(POINTER(hr_work*, work), POINTER(void (*)(void* context, const hr_status* status), callback), POINTER(void*, context));
}

static jlong JNICALL raw_hr_work_enqueue(JNIEnv* jni, jclass raw, jlong work, jlong queue, jlong key) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_work_enqueue(POINTER(hr_work*, work), POINTER(hr_queue*, queue), (uint64_t)key);
}

static jlong JNICALL raw_hr_work_cancel(JNIEnv* jni, jclass raw, jlong work) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_work_cancel(POINTER(hr_work*, work));
}

static jlong JNICALL raw_hr_send_start(JNIEnv* jni, jclass raw, jlong group, jlong data, jlong count, jint dtype, jint to, jint tag, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_send_start(POINTER(hr_group*, group), POINTER(const void*, data), (uint64_t)count, (hr_dtype)dtype, (int32_t)to, (uint32_t)tag, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_recv_start(JNIEnv* jni, jclass raw, jlong group, jlong data, jlong count, jint dtype, jint from, jint tag, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_recv_start(POINTER(hr_group*, group), POINTER(void*, data), (uint64_t)count, (hr_dtype)dtype, (int32_t)from, (uint32_t)tag, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_barrier_start(JNIEnv* jni, jclass raw, jlong group, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_barrier_start(POINTER(hr_group*, group), POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_broadcast_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_broadcast_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_reduce_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jint root, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_reduce_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, (int32_t)root, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_all_reduce_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_reduce_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_gather_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_gather_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_all_gather_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_gather_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_scatter_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint root, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_scatter_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (int32_t)root, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_reduce_scatter_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jint op, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_reduce_scatter_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, (hr_reduce_op)op, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_all_to_all_start(JNIEnv* jni, jclass raw, jlong group, jlong input, jlong output, jlong count, jint dtype, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_all_to_all_start(POINTER(hr_group*, group), POINTER(const void*, input), POINTER(void*, output), (uint64_t)count, (hr_dtype)dtype, POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_group_start(JNIEnv* jni, jclass raw, jlong group, jlong operation, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_start(POINTER(hr_group*, group), POINTER(const hr_operation*, operation), POINTER(hr_work**, out));
}

static jlong JNICALL raw_hr_group_run(JNIEnv* jni, jclass raw, jlong group, jlong operation, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_run(POINTER(hr_group*, group), POINTER(const hr_operation*, operation), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_group_explain(JNIEnv* jni, jclass raw, jlong group, jlong operation, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_group_explain(POINTER(hr_group*, group), POINTER(const hr_operation*, operation), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_session_bind_group(JNIEnv* jni, jclass raw, jlong session, jlong name, jlong group, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_bind_group(POINTER(hr_session*, session), POINTER(const char*, name), POINTER(hr_group*, group), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_session_broadcast(JNIEnv* jni, jclass raw, jlong session, jlong name, jint root, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_broadcast(POINTER(hr_session*, session), POINTER(const char*, name), (hr_root)root, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_graph_body(JNIEnv* jni, jclass raw, jlong graph, jlong body, jlong signature, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_body(POINTER(hr_graph*, graph), POINTER(const hr_graph*, body), POINTER(const char*, signature), POINTER(hr_body*, out));
}

static jlong JNICALL raw_hr_graph_input_sequence(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint dtype, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_input_sequence(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_dtype)dtype, POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_if(JNIEnv* jni, jclass raw, jlong graph, jint condition, jint then_body, jint else_body, jlong captured_count, jlong captured, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_if(POINTER(hr_graph*, graph), (hr_value)condition, (hr_body)then_body, (hr_body)else_body, (size_t)captured_count, POINTER(const hr_value*, captured), (size_t)output_count, POINTER(hr_value*, outputs));
}

static jlong JNICALL raw_hr_graph_loop(JNIEnv* jni, jclass raw, jlong graph, jint trip_count, jint condition, jint body, jlong state_count, jlong states, jlong captured_count, jlong captured, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_loop(POINTER(hr_graph*, graph), (hr_value)trip_count, (hr_value)condition, (hr_body)body, (size_t)state_count, POINTER(const hr_value*, states), (size_t)captured_count, POINTER(const hr_value*, captured), (size_t)output_count, POINTER(hr_value*, outputs));
}

static jlong JNICALL raw_hr_graph_scan(JNIEnv* jni, jclass raw, jlong graph, jint body, jlong attributes, jlong state_count, jlong states, jlong scanned_count, jlong scanned, jlong captured_count, jlong captured, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_scan(POINTER(hr_graph*, graph), (hr_body)body, POINTER(const char*, attributes), (size_t)state_count, POINTER(const hr_value*, states), (size_t)scanned_count, POINTER(const hr_value*, scanned), (size_t)captured_count, POINTER(const hr_value*, captured), (size_t)output_count, POINTER(hr_value*, outputs));
}

static jlong JNICALL raw_hr_graph_call(JNIEnv* jni, jclass raw, jlong graph, jint body, jlong input_count, jlong inputs, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_call(POINTER(hr_graph*, graph), (hr_body)body, (size_t)input_count, POINTER(const hr_value*, inputs), (size_t)output_count, POINTER(hr_value*, outputs));
}

static void JNICALL raw_hr_node_spec_body(JNIEnv* jni, jclass raw, jlong spec, jlong name, jint value) {
  (void)jni, (void)raw;
  api.hr_node_spec_body(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (hr_body)value);
}

static jlong JNICALL raw_hr_env_create(JNIEnv* jni, jclass raw, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_env_create(POINTER(const hr_env_options*, options), POINTER(hr_env**, out));
}

static void JNICALL raw_hr_env_release(JNIEnv* jni, jclass raw, jlong env) {
  (void)jni, (void)raw;
  api.hr_env_release(POINTER(hr_env*, env));
}

static jlong JNICALL raw_hr_env_load_plugin(JNIEnv* jni, jclass raw, jlong env, jlong name_or_path) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_env_load_plugin(POINTER(hr_env*, env), POINTER(const char*, name_or_path));
}

static jlong JNICALL raw_hr_env_describe(JNIEnv* jni, jclass raw, jlong env, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_env_describe(POINTER(const hr_env*, env), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_graph_create(JNIEnv* jni, jclass raw, jlong env, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_create(POINTER(hr_env*, env), POINTER(hr_graph**, out));
}

static void JNICALL raw_hr_graph_release(JNIEnv* jni, jclass raw, jlong graph) {
  (void)jni, (void)raw;
  api.hr_graph_release(POINTER(hr_graph*, graph));
}

static jlong JNICALL raw_hr_graph_input(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint dtype, jlong rank, jlong dims, jlong symbols, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_input(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), POINTER(const char* const*, symbols), POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_bound(JNIEnv* jni, jclass raw, jlong graph, jlong symbol, jlong min, jlong max, jlong bucket_count, jlong buckets) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_bound(POINTER(hr_graph*, graph), POINTER(const char*, symbol), (int64_t)min, (int64_t)max, (size_t)bucket_count, POINTER(const int64_t*, buckets));
}

static jlong JNICALL raw_hr_graph_constant(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong tensor, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_constant(POINTER(hr_graph*, graph), POINTER(const char*, name), POINTER(const hr_tensor*, tensor), POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_variable(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong initial, jint trainable, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_variable(POINTER(hr_graph*, graph), POINTER(const char*, name), POINTER(const hr_tensor*, initial), (int)trainable, POINTER(hr_variable*, out));
}

static jlong JNICALL raw_hr_graph_variable_init(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint dtype, jlong rank, jlong dims, jint trainable, jlong op, jlong attributes, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_variable_init(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), (int)trainable, POINTER(const char*, op), POINTER(const char*, attributes), POINTER(hr_variable*, out));
}

static jlong JNICALL raw_hr_graph_read(JNIEnv* jni, jclass raw, jlong graph, jint variable, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_read(POINTER(hr_graph*, graph), (hr_variable)variable, POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_assign(JNIEnv* jni, jclass raw, jlong graph, jint variable, jint value, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_assign(POINTER(hr_graph*, graph), (hr_variable)variable, (hr_value)value, POINTER(hr_node*, out));
}

static jlong JNICALL raw_hr_graph_assign_add(JNIEnv* jni, jclass raw, jlong graph, jint variable, jint value, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_assign_add(POINTER(hr_graph*, graph), (hr_variable)variable, (hr_value)value, POINTER(hr_node*, out));
}

static jlong JNICALL raw_hr_graph_set_trainable(JNIEnv* jni, jclass raw, jlong graph, jint variable, jint trainable) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_set_trainable(POINTER(hr_graph*, graph), (hr_variable)variable, (int)trainable);
}

static jlong JNICALL raw_hr_graph_op(JNIEnv* jni, jclass raw, jlong graph, jlong op, jlong attributes, jlong input_count, jlong inputs, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_op(POINTER(hr_graph*, graph), POINTER(const char*, op), POINTER(const char*, attributes), (size_t)input_count, POINTER(const hr_value*, inputs), (size_t)output_count, POINTER(hr_value*, outputs));
}

static jlong JNICALL raw_hr_graph_device(JNIEnv* jni, jclass raw, jlong graph, jlong device) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_device(POINTER(hr_graph*, graph), POINTER(const char*, device));
}

static jlong JNICALL raw_hr_node_spec_create(JNIEnv* jni, jclass raw, jlong op, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_node_spec_create(POINTER(const char*, op), POINTER(hr_node_spec**, out));
}

static void JNICALL raw_hr_node_spec_release(JNIEnv* jni, jclass raw, jlong spec) {
  (void)jni, (void)raw;
  api.hr_node_spec_release(POINTER(hr_node_spec*, spec));
}

static void JNICALL raw_hr_node_spec_name(JNIEnv* jni, jclass raw, jlong spec, jlong name) {
  (void)jni, (void)raw;
  api.hr_node_spec_name(POINTER(hr_node_spec*, spec), POINTER(const char*, name));
}

static void JNICALL raw_hr_node_spec_device(JNIEnv* jni, jclass raw, jlong spec, jlong device) {
  (void)jni, (void)raw;
  api.hr_node_spec_device(POINTER(hr_node_spec*, spec), POINTER(const char*, device));
}

static void JNICALL raw_hr_node_spec_input(JNIEnv* jni, jclass raw, jlong spec, jint value) {
  (void)jni, (void)raw;
  api.hr_node_spec_input(POINTER(hr_node_spec*, spec), (hr_value)value);
}

static void JNICALL raw_hr_node_spec_control(JNIEnv* jni, jclass raw, jlong spec, jint node) {
  (void)jni, (void)raw;
  api.hr_node_spec_control(POINTER(hr_node_spec*, spec), (hr_node)node);
}

static void JNICALL raw_hr_node_spec_int(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong value) {
  (void)jni, (void)raw;
  api.hr_node_spec_int(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (int64_t)value);
}

static void JNICALL raw_hr_node_spec_float(JNIEnv* jni, jclass raw, jlong spec, jlong name, jdouble value) {
  (void)jni, (void)raw;
  api.hr_node_spec_float(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (double)value);
}

static void JNICALL raw_hr_node_spec_string(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong value) {
  (void)jni, (void)raw;
  api.hr_node_spec_string(POINTER(hr_node_spec*, spec), POINTER(const char*, name), POINTER(const char*, value));
}

static void JNICALL raw_hr_node_spec_ints(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong count, jlong values) {
  (void)jni, (void)raw;
  api.hr_node_spec_ints(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (size_t)count, POINTER(const int64_t*, values));
}

static void JNICALL raw_hr_node_spec_floats(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong count, jlong values) {
  (void)jni, (void)raw;
  api.hr_node_spec_floats(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (size_t)count, POINTER(const double*, values));
}

static void JNICALL raw_hr_node_spec_strings(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong count, jlong values) {
  (void)jni, (void)raw;
  api.hr_node_spec_strings(POINTER(hr_node_spec*, spec), POINTER(const char*, name), (size_t)count, POINTER(const char* const*, values));
}

static void JNICALL raw_hr_node_spec_tensor(JNIEnv* jni, jclass raw, jlong spec, jlong name, jlong value) {
  (void)jni, (void)raw;
  api.hr_node_spec_tensor(POINTER(hr_node_spec*, spec), POINTER(const char*, name), POINTER(const hr_tensor*, value));
}

static jlong JNICALL raw_hr_graph_add(JNIEnv* jni, jclass raw, jlong graph, jlong spec, jlong output_count, jlong outputs, jlong out_node) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_add(POINTER(hr_graph*, graph), POINTER(const hr_node_spec*, spec), (size_t)output_count, POINTER(hr_value*, outputs), POINTER(hr_node*, out_node));
}

static jlong JNICALL raw_hr_graph_replace(JNIEnv* jni, jclass raw, jlong graph, jint from, jint to) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_replace(POINTER(hr_graph*, graph), (hr_value)from, (hr_value)to);
}

static jlong JNICALL raw_hr_graph_name_value(JNIEnv* jni, jclass raw, jlong graph, jint value, jlong name) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_name_value(POINTER(hr_graph*, graph), (hr_value)value, POINTER(const char*, name));
}

static jlong JNICALL raw_hr_graph_dense(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint x, jlong units, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_dense(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_value)x, (int64_t)units, POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_conv2d(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint x, jlong channels, jlong kernel, jlong attributes, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_conv2d(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_value)x, (int64_t)channels, (int64_t)kernel, POINTER(const char*, attributes), POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_batch_norm(JNIEnv* jni, jclass raw, jlong graph, jlong name, jint x, jint training, jlong attributes, jlong out, jlong out_update) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_batch_norm(POINTER(hr_graph*, graph), POINTER(const char*, name), (hr_value)x, (int)training, POINTER(const char*, attributes), POINTER(hr_value*, out), POINTER(hr_node*, out_update));
}

static jlong JNICALL raw_hr_graph_add_gradients(JNIEnv* jni, jclass raw, jlong graph, jint y, jlong count, jlong xs, jlong out_gradients) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_add_gradients(POINTER(hr_graph*, graph), (hr_value)y, (size_t)count, POINTER(const hr_value*, xs), POINTER(hr_value*, out_gradients));
}

static jlong JNICALL raw_hr_graph_variable_gradients(JNIEnv* jni, jclass raw, jlong graph, jint loss, jlong count, jlong variables, jlong out_gradients) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_variable_gradients(POINTER(hr_graph*, graph), (hr_value)loss, (size_t)count, POINTER(const hr_variable*, variables), POINTER(hr_value*, out_gradients));
}

static jlong JNICALL raw_hr_graph_apply_gradients(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong optimizer, jint learning_rate, jlong count, jlong variables, jlong gradients) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_apply_gradients(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, optimizer), (hr_value)learning_rate, (size_t)count, POINTER(const hr_variable*, variables), POINTER(const hr_value*, gradients));
}

static jlong JNICALL raw_hr_graph_minimize(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jint loss, jlong optimizer, jint learning_rate) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_minimize(POINTER(hr_graph*, graph), POINTER(const char*, signature), (hr_value)loss, POINTER(const char*, optimizer), (hr_value)learning_rate);
}

static jlong JNICALL raw_hr_graph_signature_input(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong name, jint value) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_signature_input(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, name), (hr_value)value);
}

static jlong JNICALL raw_hr_graph_signature_output(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong name, jint value) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_signature_output(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, name), (hr_value)value);
}

static jlong JNICALL raw_hr_graph_signature_target(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jint node) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_signature_target(POINTER(hr_graph*, graph), POINTER(const char*, signature), (hr_node)node);
}

static jlong JNICALL raw_hr_graph_remove_signature(JNIEnv* jni, jclass raw, jlong graph, jlong signature) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_remove_signature(POINTER(hr_graph*, graph), POINTER(const char*, signature));
}

static jlong JNICALL raw_hr_graph_prune(JNIEnv* jni, jclass raw, jlong graph) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_prune(POINTER(hr_graph*, graph));
}

static jlong JNICALL raw_hr_graph_set_metadata(JNIEnv* jni, jclass raw, jlong graph, jlong key, jlong value) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_set_metadata(POINTER(hr_graph*, graph), POINTER(const char*, key), POINTER(const char*, value));
}

static jlong JNICALL raw_hr_graph_save(JNIEnv* jni, jclass raw, jlong graph, jlong path, jlong options) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_save(POINTER(const hr_graph*, graph), POINTER(const char*, path), POINTER(const hr_save_options*, options));
}

static jlong JNICALL raw_hr_graph_get(JNIEnv* jni, jclass raw, jlong graph, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get(POINTER(const hr_graph*, graph), POINTER(hr_graph_info*, out));
}

static jlong JNICALL raw_hr_graph_get_value(JNIEnv* jni, jclass raw, jlong graph, jint value, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get_value(POINTER(const hr_graph*, graph), (hr_value)value, POINTER(hr_value_info*, out));
}

static jlong JNICALL raw_hr_graph_get_node(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get_node(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(hr_node_info*, out));
}

static jlong JNICALL raw_hr_graph_get_variable(JNIEnv* jni, jclass raw, jlong graph, jint variable, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get_variable(POINTER(const hr_graph*, graph), (hr_variable)variable, POINTER(hr_variable_info*, out));
}

static jlong JNICALL raw_hr_graph_get_signature(JNIEnv* jni, jclass raw, jlong graph, jlong index, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get_signature(POINTER(const hr_graph*, graph), (size_t)index, POINTER(hr_signature_info*, out));
}

static jlong JNICALL raw_hr_graph_get_attribute(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong index, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_get_attribute(POINTER(const hr_graph*, graph), (hr_node)node, (size_t)index, POINTER(hr_attribute_info*, out));
}

static jlong JNICALL raw_hr_graph_find_value(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_find_value(POINTER(const hr_graph*, graph), POINTER(const char*, name), POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_find_node(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_find_node(POINTER(const hr_graph*, graph), POINTER(const char*, name), POINTER(hr_node*, out));
}

static jlong JNICALL raw_hr_graph_find_variable(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_find_variable(POINTER(const hr_graph*, graph), POINTER(const char*, name), POINTER(hr_variable*, out));
}

static jlong JNICALL raw_hr_graph_find_signature(JNIEnv* jni, jclass raw, jlong graph, jlong name, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_find_signature(POINTER(const hr_graph*, graph), POINTER(const char*, name), POINTER(size_t*, out));
}

static jlong JNICALL raw_hr_graph_node_int(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong fallback, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_int(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), (int64_t)fallback, POINTER(int64_t*, out));
}

static jlong JNICALL raw_hr_graph_node_float(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jdouble fallback, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_float(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), (double)fallback, POINTER(double*, out));
}

static jlong JNICALL raw_hr_graph_node_string(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong fallback, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_string(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), POINTER(const char*, fallback), POINTER(const char**, out));
}

static jlong JNICALL raw_hr_graph_node_ints(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong out_count, jlong out_values) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_ints(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), POINTER(size_t*, out_count), POINTER(const int64_t**, out_values));
}

static jlong JNICALL raw_hr_graph_node_floats(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong out_count, jlong out_values) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_floats(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), POINTER(size_t*, out_count), POINTER(const double**, out_values));
}

static jlong JNICALL raw_hr_graph_node_strings(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong out_count, jlong out_values) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_strings(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), POINTER(size_t*, out_count), POINTER(const char* const**, out_values));
}

static jlong JNICALL raw_hr_graph_node_tensor(JNIEnv* jni, jclass raw, jlong graph, jint node, jlong name, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_node_tensor(POINTER(const hr_graph*, graph), (hr_node)node, POINTER(const char*, name), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_graph_value_tensor(JNIEnv* jni, jclass raw, jlong graph, jint value, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_value_tensor(POINTER(const hr_graph*, graph), (hr_value)value, POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_graph_variable_tensor(JNIEnv* jni, jclass raw, jlong graph, jint variable, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_variable_tensor(POINTER(const hr_graph*, graph), (hr_variable)variable, POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_graph_type_of(JNIEnv* jni, jclass raw, jlong graph, jint value, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_type_of(POINTER(const hr_graph*, graph), (hr_value)value, POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_model_load(JNIEnv* jni, jclass raw, jlong env, jlong path, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_load(POINTER(hr_env*, env), POINTER(const char*, path), POINTER(const hr_load_options*, options), POINTER(hr_model**, out));
}

static jlong JNICALL raw_hr_model_load_memory(JNIEnv* jni, jclass raw, jlong env, jlong data, jlong bytes, jlong release, jlong context, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_load_memory(POINTER(hr_env*, env), POINTER(const void*, data), (size_t)bytes, POINTER(void (*)(void* context), release), POINTER(void*, context), POINTER(const hr_load_options*, options), POINTER(hr_model**, out));
}

static jlong JNICALL raw_hr_model_load_callback(JNIEnv* jni, jclass raw, jlong env, jlong reader, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_load_callback(POINTER(hr_env*, env), POINTER(const hr_reader*, reader), POINTER(const hr_load_options*, options), POINTER(hr_model**, out));
}

static jlong JNICALL raw_hr_model_from_graph(JNIEnv* jni, jclass raw, jlong graph, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_from_graph(POINTER(const hr_graph*, graph), POINTER(hr_model**, out));
}

static jlong JNICALL raw_hr_graph_from_model(JNIEnv* jni, jclass raw, jlong model, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_from_model(POINTER(const hr_model*, model), POINTER(hr_graph**, out));
}

static void JNICALL raw_hr_model_release(JNIEnv* jni, jclass raw, jlong model) {
  (void)jni, (void)raw;
  api.hr_model_release(POINTER(hr_model*, model));
}

static jlong JNICALL raw_hr_model_convert(JNIEnv* jni, jclass raw, jlong env, jlong from, jlong to, jlong options, jlong limits, jlong out_report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_convert(POINTER(hr_env*, env), POINTER(const char*, from), POINTER(const char*, to), POINTER(const hr_convert_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_text**, out_report));
}

static jlong JNICALL raw_hr_model_export(JNIEnv* jni, jclass raw, jlong env, jlong from, jlong to, jlong options, jlong limits, jlong out_report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_export(POINTER(hr_env*, env), POINTER(const char*, from), POINTER(const char*, to), POINTER(const hr_export_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_text**, out_report));
}

static jlong JNICALL raw_hr_tensor_load(JNIEnv* jni, jclass raw, jlong env, jlong path, jlong out, jlong out_name) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_load(POINTER(hr_env*, env), POINTER(const char*, path), POINTER(hr_tensor**, out), POINTER(hr_text**, out_name));
}

static jlong JNICALL raw_hr_model_describe(JNIEnv* jni, jclass raw, jlong model, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_describe(POINTER(const hr_model*, model), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_model_view(JNIEnv* jni, jclass raw, jlong model, jlong format, jlong view, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_view(POINTER(const hr_model*, model), POINTER(const char*, format), POINTER(const hr_graph_view*, view), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_model_graph_text(JNIEnv* jni, jclass raw, jlong model, jlong format, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_graph_text(POINTER(const hr_model*, model), POINTER(const char*, format), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_model_file_describe(JNIEnv* jni, jclass raw, jlong path, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_model_file_describe(POINTER(const char*, path), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_env_add_operator(JNIEnv* jni, jclass raw, jlong env, jlong op) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_env_add_operator(POINTER(hr_env*, env), POINTER(const hr_operator*, op));
}

static jlong JNICALL raw_hr_op_input_count(JNIEnv* jni, jclass raw, jlong op) {
  (void)jni, (void)raw;
  return (jlong)api.hr_op_input_count(POINTER(const hr_op*, op));
}

static jlong JNICALL raw_hr_op_output_count(JNIEnv* jni, jclass raw, jlong op) {
  (void)jni, (void)raw;
  return (jlong)api.hr_op_output_count(POINTER(const hr_op*, op));
}

static jlong JNICALL raw_hr_op_int(JNIEnv* jni, jclass raw, jlong op, jlong name, jlong fallback) {
  (void)jni, (void)raw;
  return (jlong)api.hr_op_int(POINTER(const hr_op*, op), POINTER(const char*, name), (int64_t)fallback);
}

static jdouble JNICALL raw_hr_op_float(JNIEnv* jni, jclass raw, jlong op, jlong name, jdouble fallback) {
  (void)jni, (void)raw;
  return (jdouble)api.hr_op_float(POINTER(const hr_op*, op), POINTER(const char*, name), (double)fallback);
}

static jlong JNICALL raw_hr_op_string(JNIEnv* jni, jclass raw, jlong op, jlong name, jlong fallback) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_string(POINTER(const hr_op*, op), POINTER(const char*, name), POINTER(const char*, fallback));
}

static jlong JNICALL raw_hr_op_ints(JNIEnv* jni, jclass raw, jlong op, jlong name, jlong out_values) {
  (void)jni, (void)raw;
  return (jlong)api.hr_op_ints(POINTER(const hr_op*, op), POINTER(const char*, name), POINTER(const int64_t**, out_values));
}

static jlong JNICALL raw_hr_op_floats(JNIEnv* jni, jclass raw, jlong op, jlong name, jlong out_values) {
  (void)jni, (void)raw;
  return (jlong)api.hr_op_floats(POINTER(const hr_op*, op), POINTER(const char*, name), POINTER(const double**, out_values));
}

static jint JNICALL raw_hr_op_input_type(JNIEnv* jni, jclass raw, jlong op, jlong input, jlong out_rank, jlong out_dims) {
  (void)jni, (void)raw;
  return (jint)api.hr_op_input_type(POINTER(hr_op*, op), (size_t)input, POINTER(int32_t*, out_rank), POINTER(const int64_t**, out_dims));
}

static jlong JNICALL raw_hr_op_set_output(JNIEnv* jni, jclass raw, jlong op, jlong output, jint dtype, jint rank, jlong dims) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_set_output(POINTER(hr_op*, op), (size_t)output, (hr_dtype)dtype, (int32_t)rank, POINTER(const int64_t*, dims));
}

static jlong JNICALL raw_hr_op_set_output_like(JNIEnv* jni, jclass raw, jlong op, jlong output, jlong input) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_set_output_like(POINTER(hr_op*, op), (size_t)output, (size_t)input);
}

static jlong JNICALL raw_hr_op_input_tensor(JNIEnv* jni, jclass raw, jlong op, jlong input) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_input_tensor(POINTER(const hr_op*, op), (size_t)input);
}

static jlong JNICALL raw_hr_op_output_tensor(JNIEnv* jni, jclass raw, jlong op, jlong output) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_output_tensor(POINTER(const hr_op*, op), (size_t)output);
}

static void JNICALL raw_hr_op_parallel_for(JNIEnv* jni, jclass raw, jlong op, jint tasks, jlong fn, jlong fn_context) {
  (void)jni, (void)raw;
  api.hr_op_parallel_for(POINTER(hr_op*, op), (int32_t)tasks, POINTER(void (*)(void* fn_context, int task), fn), POINTER(void*, fn_context));
}

static jint JNICALL raw_hr_op_input(JNIEnv* jni, jclass raw, jlong op, jlong input) {
  (void)jni, (void)raw;
  return (jint)api.hr_op_input(POINTER(const hr_op*, op), (size_t)input);
}

static jint JNICALL raw_hr_op_output(JNIEnv* jni, jclass raw, jlong op, jlong output) {
  (void)jni, (void)raw;
  return (jint)api.hr_op_output(POINTER(const hr_op*, op), (size_t)output);
}

static jint JNICALL raw_hr_op_output_gradient(JNIEnv* jni, jclass raw, jlong op, jlong output) {
  (void)jni, (void)raw;
  return (jint)api.hr_op_output_gradient(POINTER(const hr_op*, op), (size_t)output);
}

static jint JNICALL raw_hr_op_wants_gradient(JNIEnv* jni, jclass raw, jlong op, jlong input) {
  (void)jni, (void)raw;
  return (jint)api.hr_op_wants_gradient(POINTER(const hr_op*, op), (size_t)input);
}

static jlong JNICALL raw_hr_op_add(JNIEnv* jni, jclass raw, jlong op, jlong name, jlong attributes, jlong input_count, jlong inputs, jlong output_count, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_add(POINTER(hr_op*, op), POINTER(const char*, name), POINTER(const char*, attributes), (size_t)input_count, POINTER(const hr_value*, inputs), (size_t)output_count, POINTER(hr_value*, outputs));
}

static jlong JNICALL raw_hr_op_scalar(JNIEnv* jni, jclass raw, jlong op, jdouble value, jint like, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_scalar(POINTER(hr_op*, op), (double)value, (hr_value)like, POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_op_set_gradient(JNIEnv* jni, jclass raw, jlong op, jlong input, jint gradient) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_op_set_gradient(POINTER(hr_op*, op), (size_t)input, (hr_value)gradient);
}

static jlong JNICALL raw_hr_queue_create(JNIEnv* jni, jclass raw, jlong env, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_queue_create(POINTER(hr_env*, env), POINTER(hr_queue**, out));
}

static void JNICALL raw_hr_queue_release(JNIEnv* jni, jclass raw, jlong queue) {
  (void)jni, (void)raw;
  api.hr_queue_release(POINTER(hr_queue*, queue));
}

static jlong JNICALL raw_hr_queue_poll(JNIEnv* jni, jclass raw, jlong queue, jlong out, jlong out_found) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_queue_poll(POINTER(hr_queue*, queue), POINTER(hr_completion*, out), POINTER(int32_t*, out_found));
}

static jlong JNICALL raw_hr_queue_wait(JNIEnv* jni, jclass raw, jlong queue, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_queue_wait(POINTER(hr_queue*, queue), POINTER(const hr_limits*, limits), POINTER(hr_completion*, out));
}

static jlong JNICALL raw_hr_queue_descriptor(JNIEnv* jni, jclass raw, jlong queue, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_queue_descriptor(POINTER(hr_queue*, queue), POINTER(int32_t*, out));
}

static jlong JNICALL raw_hr_session_create(JNIEnv* jni, jclass raw, jlong model, jlong options, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_create(POINTER(const hr_model*, model), POINTER(const hr_session_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_session**, out));
}

static void JNICALL raw_hr_session_close(JNIEnv* jni, jclass raw, jlong session) {
  (void)jni, (void)raw;
  api.hr_session_close(POINTER(hr_session*, session));
}

static void JNICALL raw_hr_session_release(JNIEnv* jni, jclass raw, jlong session) {
  (void)jni, (void)raw;
  api.hr_session_release(POINTER(hr_session*, session));
}

static void JNICALL raw_hr_session_trim(JNIEnv* jni, jclass raw, jlong session) {
  (void)jni, (void)raw;
  api.hr_session_trim(POINTER(hr_session*, session));
}

static jlong JNICALL raw_hr_session_run(JNIEnv* jni, jclass raw, jlong session, jlong feed_count, jlong feed_names, jlong feeds, jlong fetch_count, jlong fetch_names, jlong target_count, jlong target_names, jlong limits, jlong outputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_run(POINTER(hr_session*, session), (size_t)feed_count, POINTER(const char* const*, feed_names), POINTER(const hr_tensor* const*, feeds), (size_t)fetch_count, POINTER(const char* const*, fetch_names), (size_t)target_count, POINTER(const char* const*, target_names), POINTER(const hr_limits*, limits), POINTER(hr_tensor**, outputs));
}

static jlong JNICALL raw_hr_session_variable_count(JNIEnv* jni, jclass raw, jlong session) {
  (void)jni, (void)raw;
  return (jlong)api.hr_session_variable_count(POINTER(const hr_session*, session));
}

static jlong JNICALL raw_hr_session_variable_name(JNIEnv* jni, jclass raw, jlong session, jlong index) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_variable_name(POINTER(const hr_session*, session), (size_t)index);
}

static jlong JNICALL raw_hr_session_get_variable(JNIEnv* jni, jclass raw, jlong session, jlong name, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_get_variable(POINTER(hr_session*, session), POINTER(const char*, name), POINTER(const hr_limits*, limits), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_session_set_variable(JNIEnv* jni, jclass raw, jlong session, jlong name, jlong value, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_set_variable(POINTER(hr_session*, session), POINTER(const char*, name), POINTER(const hr_tensor*, value), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_session_describe(JNIEnv* jni, jclass raw, jlong session, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_describe(POINTER(hr_session*, session), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_call_create(JNIEnv* jni, jclass raw, jlong session, jlong signature, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_create(POINTER(hr_session*, session), POINTER(const char*, signature), POINTER(hr_call**, out));
}

static jlong JNICALL raw_hr_call_create_custom(JNIEnv* jni, jclass raw, jlong session, jlong feed_count, jlong feed_names, jlong fetch_count, jlong fetch_names, jlong target_count, jlong target_names, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_create_custom(POINTER(hr_session*, session), (size_t)feed_count, POINTER(const char* const*, feed_names), (size_t)fetch_count, POINTER(const char* const*, fetch_names), (size_t)target_count, POINTER(const char* const*, target_names), POINTER(hr_call**, out));
}

static void JNICALL raw_hr_call_release(JNIEnv* jni, jclass raw, jlong call) {
  (void)jni, (void)raw;
  api.hr_call_release(POINTER(hr_call*, call));
}

static jlong JNICALL raw_hr_call_bind(JNIEnv* jni, jclass raw, jlong call, jlong input, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_bind(POINTER(hr_call*, call), POINTER(const char*, input), POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_call_bind_scalar(JNIEnv* jni, jclass raw, jlong call, jlong input, jdouble value) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_bind_scalar(POINTER(hr_call*, call), POINTER(const char*, input), (double)value);
}

static jlong JNICALL raw_hr_call_output(JNIEnv* jni, jclass raw, jlong call, jlong output, jlong data, jlong bytes) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_output(POINTER(hr_call*, call), POINTER(const char*, output), POINTER(void*, data), (size_t)bytes);
}

static jlong JNICALL raw_hr_call_bind_output(JNIEnv* jni, jclass raw, jlong call, jlong output, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_bind_output(POINTER(hr_call*, call), POINTER(const char*, output), POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_call_output_type(JNIEnv* jni, jclass raw, jlong call, jlong output, jlong out_dtype, jlong out_rank, jlong out_dims) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_output_type(POINTER(hr_call*, call), POINTER(const char*, output), POINTER(hr_dtype*, out_dtype), POINTER(size_t*, out_rank), POINTER(const int64_t**, out_dims));
}

static jlong JNICALL raw_hr_call_run(JNIEnv* jni, jclass raw, jlong call, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_run(POINTER(hr_call*, call), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_call_start(JNIEnv* jni, jclass raw, jlong call, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_start(POINTER(hr_call*, call), POINTER(const hr_limits*, limits), POINTER(hr_run**, out));
}

static void JNICALL raw_hr_run_release(JNIEnv* jni, jclass raw, jlong run) {
  (void)jni, (void)raw;
  api.hr_run_release(POINTER(hr_run*, run));
}

static jint JNICALL raw_hr_run_test(JNIEnv* jni, jclass raw, jlong run) {
  (void)jni, (void)raw;
  return (jint)api.hr_run_test(POINTER(hr_run*, run));
}

static jlong JNICALL raw_hr_run_wait(JNIEnv* jni, jclass raw, jlong run, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_run_wait(POINTER(hr_run*, run), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_run_on_done(JNIEnv* jni, jclass raw, jlong run, jlong callback, jlong context) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_run_on_done(POINTER(hr_run*, run), POINTER(void (*)(void* context, const hr_status* status), callback), POINTER(void*, context));
}

static jlong JNICALL raw_hr_run_enqueue(JNIEnv* jni, jclass raw, jlong run, jlong queue, jlong key) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_run_enqueue(POINTER(hr_run*, run), POINTER(hr_queue*, queue), (uint64_t)key);
}

static void JNICALL raw_hr_run_cancel(JNIEnv* jni, jclass raw, jlong run) {
  (void)jni, (void)raw;
  api.hr_run_cancel(POINTER(hr_run*, run));
}

static jlong JNICALL raw_hr_call_result(JNIEnv* jni, jclass raw, jlong call, jlong output, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_result(POINTER(const hr_call*, call), POINTER(const char*, output), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_call_take_result(JNIEnv* jni, jclass raw, jlong call, jlong output, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_take_result(POINTER(hr_call*, call), POINTER(const char*, output), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_call_describe(JNIEnv* jni, jclass raw, jlong call, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_describe(POINTER(hr_call*, call), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_call_profile(JNIEnv* jni, jclass raw, jlong call, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_profile(POINTER(hr_call*, call), POINTER(const hr_limits*, limits), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_tensor_create(JNIEnv* jni, jclass raw, jlong env, jint dtype, jlong rank, jlong dims, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_create(POINTER(hr_env*, env), (hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_tensor_copy_of(JNIEnv* jni, jclass raw, jlong env, jint dtype, jlong rank, jlong dims, jlong data, jlong bytes, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_copy_of(POINTER(hr_env*, env), (hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), POINTER(const void*, data), (size_t)bytes, POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_tensor_wrap(JNIEnv* jni, jclass raw, jint dtype, jlong rank, jlong dims, jlong data, jlong bytes, jlong release, jlong context, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_wrap((hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), POINTER(void*, data), (size_t)bytes, POINTER(void (*)(void* context), release), POINTER(void*, context), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_tensor_wrap_strided(JNIEnv* jni, jclass raw, jint dtype, jlong rank, jlong dims, jlong strides, jlong data, jlong bytes, jlong release, jlong context, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_wrap_strided((hr_dtype)dtype, (size_t)rank, POINTER(const int64_t*, dims), POINTER(const int64_t*, strides), POINTER(void*, data), (size_t)bytes, POINTER(void (*)(void* context), release), POINTER(void*, context), POINTER(hr_tensor**, out));
}

static void JNICALL raw_hr_tensor_release(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  api.hr_tensor_release(POINTER(hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_share(JNIEnv* jni, jclass raw, jlong tensor, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_share(POINTER(const hr_tensor*, tensor), POINTER(hr_tensor**, out));
}

static jint JNICALL raw_hr_tensor_dtype(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jint)api.hr_tensor_dtype(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_rank(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)api.hr_tensor_rank(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_dims(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_dims(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_elements(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)api.hr_tensor_elements(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_bytes(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)api.hr_tensor_bytes(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_data(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_data(POINTER(const hr_tensor*, tensor));
}

static jint JNICALL raw_hr_tensor_read_only(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jint)api.hr_tensor_read_only(POINTER(const hr_tensor*, tensor));
}

static jint JNICALL raw_hr_tensor_device(JNIEnv* jni, jclass raw, jlong tensor, jlong out_ordinal) {
  (void)jni, (void)raw;
  return (jint)api.hr_tensor_device(POINTER(const hr_tensor*, tensor), POINTER(int32_t*, out_ordinal));
}

static jlong JNICALL raw_hr_tensor_device_data(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_device_data(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_strides(JNIEnv* jni, jclass raw, jlong tensor) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_strides(POINTER(const hr_tensor*, tensor));
}

static jlong JNICALL raw_hr_tensor_from_dlpack(JNIEnv* jni, jclass raw, jlong managed, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_from_dlpack(POINTER(hr_dlpack*, managed), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_tensor_to_dlpack(JNIEnv* jni, jclass raw, jlong tensor, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_tensor_to_dlpack(POINTER(const hr_tensor*, tensor), POINTER(hr_dlpack**, out));
}

static jlong JNICALL raw_hr_dataset_open(JNIEnv* jni, jclass raw, jlong env, jlong uri, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_open(POINTER(hr_env*, env), POINTER(const char*, uri), POINTER(hr_dataset**, out));
}

static jlong JNICALL raw_hr_dataset_from_tensors(JNIEnv* jni, jclass raw, jlong env, jlong count, jlong names, jlong tensors, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_from_tensors(POINTER(hr_env*, env), (size_t)count, POINTER(const char* const*, names), POINTER(const hr_tensor* const*, tensors), POINTER(const hr_dataset_options*, options), POINTER(hr_dataset**, out));
}

static jlong JNICALL raw_hr_dataset_from_callbacks(JNIEnv* jni, jclass raw, jlong env, jlong callbacks, jlong field_count, jlong fields, jlong options, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_from_callbacks(POINTER(hr_env*, env), POINTER(const hr_dataset_callbacks*, callbacks), (size_t)field_count, POINTER(const hr_dataset_field*, fields), POINTER(const hr_dataset_options*, options), POINTER(hr_dataset**, out));
}

static void JNICALL raw_hr_dataset_release(JNIEnv* jni, jclass raw, jlong dataset) {
  (void)jni, (void)raw;
  api.hr_dataset_release(POINTER(hr_dataset*, dataset));
}

static jint JNICALL raw_hr_dataset_done(JNIEnv* jni, jclass raw, jlong dataset, jlong limits) {
  (void)jni, (void)raw;
  return (jint)api.hr_dataset_done(POINTER(hr_dataset*, dataset), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_dataset_batches(JNIEnv* jni, jclass raw, jlong dataset) {
  (void)jni, (void)raw;
  return (jlong)api.hr_dataset_batches(POINTER(const hr_dataset*, dataset));
}

static jlong JNICALL raw_hr_dataset_rewind(JNIEnv* jni, jclass raw, jlong dataset, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_rewind(POINTER(hr_dataset*, dataset), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_dataset_field_count(JNIEnv* jni, jclass raw, jlong dataset) {
  (void)jni, (void)raw;
  return (jlong)api.hr_dataset_field_count(POINTER(const hr_dataset*, dataset));
}

static jlong JNICALL raw_hr_dataset_field_name(JNIEnv* jni, jclass raw, jlong dataset, jlong index) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_field_name(POINTER(const hr_dataset*, dataset), (size_t)index);
}

static jlong JNICALL raw_hr_dataset_next(JNIEnv* jni, jclass raw, jlong dataset, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_next(POINTER(hr_dataset*, dataset), POINTER(const hr_limits*, limits), POINTER(hr_tensor**, out));
}

static jlong JNICALL raw_hr_dataset_rename(JNIEnv* jni, jclass raw, jlong dataset, jlong field, jlong name) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_rename(POINTER(hr_dataset*, dataset), POINTER(const char*, field), POINTER(const char*, name));
}

static jlong JNICALL raw_hr_dataset_describe(JNIEnv* jni, jclass raw, jlong dataset, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_describe(POINTER(const hr_dataset*, dataset), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_dataset_position(JNIEnv* jni, jclass raw, jlong dataset, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_position(POINTER(const hr_dataset*, dataset), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_dataset_seek(JNIEnv* jni, jclass raw, jlong dataset, jlong position, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_seek(POINTER(hr_dataset*, dataset), POINTER(const char*, position), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_dataset_reshard(JNIEnv* jni, jclass raw, jlong dataset, jlong shard_index, jlong shard_count, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_reshard(POINTER(hr_dataset*, dataset), (int64_t)shard_index, (int64_t)shard_count, POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_dataset_map(JNIEnv* jni, jclass raw, jlong dataset, jlong session, jlong signature, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_map(POINTER(hr_dataset*, dataset), POINTER(hr_session*, session), POINTER(const char*, signature), POINTER(const hr_limits*, limits), POINTER(hr_dataset**, out));
}

static jlong JNICALL raw_hr_dataset_filter(JNIEnv* jni, jclass raw, jlong dataset, jlong session, jlong signature, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_filter(POINTER(hr_dataset*, dataset), POINTER(hr_session*, session), POINTER(const char*, signature), POINTER(const hr_limits*, limits), POINTER(hr_dataset**, out));
}

static jlong JNICALL raw_hr_dataset_cache(JNIEnv* jni, jclass raw, jlong dataset, jlong options, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_dataset_cache(POINTER(hr_dataset*, dataset), POINTER(const hr_cache_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_dataset**, out));
}

static jlong JNICALL raw_hr_call_bind_dataset(JNIEnv* jni, jclass raw, jlong call, jlong dataset) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_call_bind_dataset(POINTER(hr_call*, call), POINTER(hr_dataset*, dataset));
}

static jlong JNICALL raw_hr_session_save(JNIEnv* jni, jclass raw, jlong session, jlong directory, jlong options, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_save(POINTER(hr_session*, session), POINTER(const char*, directory), POINTER(const hr_checkpoint_options*, options), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_session_restore(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong options, jlong limits, jlong report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_restore(POINTER(hr_session*, session), POINTER(const char*, path), POINTER(const hr_checkpoint_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_text**, report));
}

static jlong JNICALL raw_hr_session_step(JNIEnv* jni, jclass raw, jlong session) {
  (void)jni, (void)raw;
  return (jlong)api.hr_session_step(POINTER(const hr_session*, session));
}

static jlong JNICALL raw_hr_checkpoint_describe(JNIEnv* jni, jclass raw, jlong path, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_checkpoint_describe(POINTER(const char*, path), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_weights_describe(JNIEnv* jni, jclass raw, jlong path, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_weights_describe(POINTER(const char*, path), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_session_export_weights(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong options, jlong limits, jlong out_report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_export_weights(POINTER(hr_session*, session), POINTER(const char*, path), POINTER(const hr_weights_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_text**, out_report));
}

static jlong JNICALL raw_hr_session_import_weights(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong options, jlong limits, jlong out_report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_import_weights(POINTER(hr_session*, session), POINTER(const char*, path), POINTER(const hr_weights_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_text**, out_report));
}

static jlong JNICALL raw_hr_session_export(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong signature_count, jlong signatures, jlong options, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_export(POINTER(hr_session*, session), POINTER(const char*, path), (size_t)signature_count, POINTER(const char* const*, signatures), POINTER(const hr_save_options*, options), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_session_save_adapters(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_save_adapters(POINTER(hr_session*, session), POINTER(const char*, path), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_session_load_adapters(JNIEnv* jni, jclass raw, jlong session, jlong path, jlong limits) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_session_load_adapters(POINTER(hr_session*, session), POINTER(const char*, path), POINTER(const hr_limits*, limits));
}

static jlong JNICALL raw_hr_summary_open(JNIEnv* jni, jclass raw, jlong directory, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_open(POINTER(const char*, directory), POINTER(hr_summary**, out));
}

static void JNICALL raw_hr_summary_release(JNIEnv* jni, jclass raw, jlong events) {
  (void)jni, (void)raw;
  api.hr_summary_release(POINTER(hr_summary*, events));
}

static jlong JNICALL raw_hr_summary_scalar(JNIEnv* jni, jclass raw, jlong events, jlong tag, jlong step, jdouble value) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_scalar(POINTER(hr_summary*, events), POINTER(const char*, tag), (int64_t)step, (double)value);
}

static jlong JNICALL raw_hr_summary_histogram(JNIEnv* jni, jclass raw, jlong events, jlong tag, jlong step, jlong values) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_histogram(POINTER(hr_summary*, events), POINTER(const char*, tag), (int64_t)step, POINTER(const hr_tensor*, values));
}

static jlong JNICALL raw_hr_summary_images(JNIEnv* jni, jclass raw, jlong events, jlong tag, jlong step, jlong images, jlong most) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_images(POINTER(hr_summary*, events), POINTER(const char*, tag), (int64_t)step, POINTER(const hr_tensor*, images), (int64_t)most);
}

static jlong JNICALL raw_hr_summary_text(JNIEnv* jni, jclass raw, jlong events, jlong tag, jlong step, jlong text) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_text(POINTER(hr_summary*, events), POINTER(const char*, tag), (int64_t)step, POINTER(const char*, text));
}

static jlong JNICALL raw_hr_summary_graph(JNIEnv* jni, jclass raw, jlong events, jlong model) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_graph(POINTER(hr_summary*, events), POINTER(const hr_model*, model));
}

static jlong JNICALL raw_hr_summary_flush(JNIEnv* jni, jclass raw, jlong events) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_summary_flush(POINTER(hr_summary*, events));
}

static jlong JNICALL raw_hr_train(JNIEnv* jni, jclass raw, jlong session, jlong options, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_train(POINTER(hr_session*, session), POINTER(const hr_train_options*, options), POINTER(const hr_limits*, limits), POINTER(hr_train_report*, out));
}

static jlong JNICALL raw_hr_evaluate(JNIEnv* jni, jclass raw, jlong session, jlong signature, jlong data, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_evaluate(POINTER(hr_session*, session), POINTER(const char*, signature), POINTER(hr_dataset*, data), POINTER(const hr_limits*, limits), POINTER(hr_train_report*, out));
}

static jlong JNICALL raw_hr_evaluate_metrics(JNIEnv* jni, jclass raw, jlong session, jlong signature, jlong data, jlong limits, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_evaluate_metrics(POINTER(hr_session*, session), POINTER(const char*, signature), POINTER(hr_dataset*, data), POINTER(const hr_limits*, limits), POINTER(hr_text**, out));
}

static jlong JNICALL raw_hr_graph_quantize(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong settings, jlong patterns, jlong data, jlong limits, jlong out_report) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_quantize(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, settings), POINTER(const char*, patterns), POINTER(hr_dataset*, data), POINTER(const hr_limits*, limits), POINTER(hr_text**, out_report));
}

static jlong JNICALL raw_hr_progress_create(JNIEnv* jni, jclass raw, jlong label, jlong items, jlong done, jlong total, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_progress_create(POINTER(const char*, label), POINTER(const char*, items), (int64_t)done, (int64_t)total, POINTER(hr_progress**, out));
}

static void JNICALL raw_hr_progress_update(JNIEnv* jni, jclass raw, jlong progress, jlong done, jlong items, jlong metric_name, jdouble metric) {
  (void)jni, (void)raw;
  api.hr_progress_update(POINTER(hr_progress*, progress), (int64_t)done, (int64_t)items, POINTER(const char*, metric_name), (double)metric);
}

static void JNICALL raw_hr_progress_message(JNIEnv* jni, jclass raw, jlong progress, jlong text) {
  (void)jni, (void)raw;
  api.hr_progress_message(POINTER(hr_progress*, progress), POINTER(const char*, text));
}

static void JNICALL raw_hr_progress_release(JNIEnv* jni, jclass raw, jlong progress) {
  (void)jni, (void)raw;
  api.hr_progress_release(POINTER(hr_progress*, progress));
}

static jlong JNICALL raw_hr_graph_schedule(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong description, jlong out) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_schedule(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, description), POINTER(hr_value*, out));
}

static jlong JNICALL raw_hr_graph_clip_gradients(JNIEnv* jni, jclass raw, jlong graph, jlong bounds, jlong count, jlong gradients, jlong out_norm) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_clip_gradients(POINTER(hr_graph*, graph), POINTER(const char*, bounds), (size_t)count, POINTER(hr_value*, gradients), POINTER(hr_value*, out_norm));
}

static jlong JNICALL raw_hr_graph_set_trainable_matching(JNIEnv* jni, jclass raw, jlong graph, jlong patterns, jint trainable, jlong out_count) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_set_trainable_matching(POINTER(hr_graph*, graph), POINTER(const char*, patterns), (int)trainable, POINTER(size_t*, out_count));
}

static jlong JNICALL raw_hr_graph_minimize_groups(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jint loss, jlong count, jlong groups) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_minimize_groups(POINTER(hr_graph*, graph), POINTER(const char*, signature), (hr_value)loss, (size_t)count, POINTER(const hr_parameter_group*, groups));
}

static jlong JNICALL raw_hr_graph_average_signature(JNIEnv* jni, jclass raw, jlong graph, jlong from, jlong to) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_average_signature(POINTER(hr_graph*, graph), POINTER(const char*, from), POINTER(const char*, to));
}

static jlong JNICALL raw_hr_graph_swap_averages(JNIEnv* jni, jclass raw, jlong graph, jlong signature) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_swap_averages(POINTER(hr_graph*, graph), POINTER(const char*, signature));
}

static jlong JNICALL raw_hr_graph_copy_signature(JNIEnv* jni, jclass raw, jlong graph, jlong from, jlong to) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_copy_signature(POINTER(hr_graph*, graph), POINTER(const char*, from), POINTER(const char*, to));
}

static jlong JNICALL raw_hr_graph_metric(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong name, jlong description, jlong count, jlong inputs) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_metric(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, name), POINTER(const char*, description), (size_t)count, POINTER(const hr_value*, inputs));
}

static jlong JNICALL raw_hr_graph_distribute(JNIEnv* jni, jclass raw, jlong graph, jlong signature, jlong group, jlong strategy) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_distribute(POINTER(hr_graph*, graph), POINTER(const char*, signature), POINTER(const char*, group), POINTER(const char*, strategy));
}

static jlong JNICALL raw_hr_graph_add_lora(JNIEnv* jni, jclass raw, jlong graph, jlong patterns, jlong settings, jlong training, jlong out_count) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_add_lora(POINTER(hr_graph*, graph), POINTER(const char*, patterns), POINTER(const char*, settings), POINTER(const char*, training), POINTER(size_t*, out_count));
}

static jlong JNICALL raw_hr_graph_load_adapters(JNIEnv* jni, jclass raw, jlong graph, jlong path, jlong out_count) {
  (void)jni, (void)raw;
  return (jlong)(intptr_t)api.hr_graph_load_adapters(POINTER(hr_graph*, graph), POINTER(const char*, path), POINTER(size_t*, out_count));
}

static void JNICALL raw_call_hr_executor_parallel_for_fn(JNIEnv* jni, jclass raw, jlong function, jlong fn_context, jint task) {
  (void)jni, (void)raw;
  ((void (*)(void* fn_context, int task))(intptr_t)function)(POINTER(void*, fn_context), (int)task);
}

static void JNICALL raw_call_hr_dlpack_deleter(JNIEnv* jni, jclass raw, jlong function, jlong self) {
  (void)jni, (void)raw;
  ((void (*)(hr_dlpack* self))(intptr_t)function)(POINTER(hr_dlpack*, self));
}

const JNINativeMethod raw_natives[] = {
    {"hr_api_version", "()I", (void*)raw_hr_api_version},
    {"hr_version_text", "()J", (void*)raw_hr_version_text},
    {"hr_status_code", "(J)I", (void*)raw_hr_status_code},
    {"hr_status_message", "(J)J", (void*)raw_hr_status_message},
    {"hr_status_node", "(J)J", (void*)raw_hr_status_node},
    {"hr_status_create", "(IJ)J", (void*)raw_hr_status_create},
    {"hr_status_release", "(J)V", (void*)raw_hr_status_release},
    {"hr_code_name", "(I)J", (void*)raw_hr_code_name},
    {"hr_text_data", "(J)J", (void*)raw_hr_text_data},
    {"hr_text_size", "(J)J", (void*)raw_hr_text_size},
    {"hr_text_release", "(J)V", (void*)raw_hr_text_release},
    {"hr_cancel_create", "(J)J", (void*)raw_hr_cancel_create},
    {"hr_cancel_trigger", "(J)V", (void*)raw_hr_cancel_trigger},
    {"hr_cancel_release", "(J)V", (void*)raw_hr_cancel_release},
    {"hr_dtype_size", "(I)J", (void*)raw_hr_dtype_size},
    {"hr_dtype_name", "(I)J", (void*)raw_hr_dtype_name},
    {"hr_launch_from_environment", "(J)J", (void*)raw_hr_launch_from_environment},
    {"hr_launch_release", "(J)V", (void*)raw_hr_launch_release},
    {"hr_launch_rank", "(J)I", (void*)raw_hr_launch_rank},
    {"hr_launch_size", "(J)I", (void*)raw_hr_launch_size},
    {"hr_launch_local_rank", "(J)I", (void*)raw_hr_launch_local_rank},
    {"hr_launch_local_size", "(J)I", (void*)raw_hr_launch_local_size},
    {"hr_launch_epoch", "(J)J", (void*)raw_hr_launch_epoch},
    {"hr_launch_min_ranks", "(J)I", (void*)raw_hr_launch_min_ranks},
    {"hr_launch_max_ranks", "(J)I", (void*)raw_hr_launch_max_ranks},
    {"hr_launch_store", "(J)J", (void*)raw_hr_launch_store},
    {"hr_launch_describe", "(JJ)J", (void*)raw_hr_launch_describe},
    {"hr_store_open", "(JJJ)J", (void*)raw_hr_store_open},
    {"hr_store_open_with", "(JJJJ)J", (void*)raw_hr_store_open_with},
    {"hr_store_url", "(JJ)J", (void*)raw_hr_store_url},
    {"hr_store_from_callbacks", "(JJ)J", (void*)raw_hr_store_from_callbacks},
    {"hr_store_release", "(J)V", (void*)raw_hr_store_release},
    {"hr_group_create", "(JJJJ)J", (void*)raw_hr_group_create},
    {"hr_group_release", "(J)V", (void*)raw_hr_group_release},
    {"hr_group_close", "(J)V", (void*)raw_hr_group_close},
    {"hr_group_abort", "(JJ)J", (void*)raw_hr_group_abort},
    {"hr_group_rank", "(J)I", (void*)raw_hr_group_rank},
    {"hr_group_size", "(J)I", (void*)raw_hr_group_size},
    {"hr_group_epoch", "(J)J", (void*)raw_hr_group_epoch},
    {"hr_group_status", "(J)J", (void*)raw_hr_group_status},
    {"hr_group_describe", "(JJ)J", (void*)raw_hr_group_describe},
    {"hr_group_dump", "(JJ)J", (void*)raw_hr_group_dump},
    {"hr_dump_read", "(JJ)J", (void*)raw_hr_dump_read},
    {"hr_group_split", "(JIIJJ)J", (void*)raw_hr_group_split},
    {"hr_group_shrink", "(JJJ)J", (void*)raw_hr_group_shrink},
    {"hr_group_grow", "(JIJJ)J", (void*)raw_hr_group_grow},
    {"hr_group_waiting", "(JJJ)J", (void*)raw_hr_group_waiting},
    {"hr_group_join", "(JJJJ)J", (void*)raw_hr_group_join},
    {"hr_send", "(JJJIIIJ)J", (void*)raw_hr_send},
    {"hr_recv", "(JJJIIIJ)J", (void*)raw_hr_recv},
    {"hr_barrier", "(JJ)J", (void*)raw_hr_barrier},
    {"hr_broadcast", "(JJJJIIJ)J", (void*)raw_hr_broadcast},
    {"hr_reduce", "(JJJJIIIJ)J", (void*)raw_hr_reduce},
    {"hr_all_reduce", "(JJJJIIJ)J", (void*)raw_hr_all_reduce},
    {"hr_gather", "(JJJJIIJ)J", (void*)raw_hr_gather},
    {"hr_all_gather", "(JJJJIJ)J", (void*)raw_hr_all_gather},
    {"hr_scatter", "(JJJJIIJ)J", (void*)raw_hr_scatter},
    {"hr_reduce_scatter", "(JJJJIIJ)J", (void*)raw_hr_reduce_scatter},
    {"hr_all_to_all", "(JJJJIJ)J", (void*)raw_hr_all_to_all},
    {"hr_work_release", "(J)V", (void*)raw_hr_work_release},
    {"hr_work_test", "(J)I", (void*)raw_hr_work_test},
    {"hr_work_wait", "(JJ)J", (void*)raw_hr_work_wait},
    {"hr_work_on_done", "(JJJ)J", (void*)raw_hr_work_on_done},
    {"hr_work_enqueue", "(JJJ)J", (void*)raw_hr_work_enqueue},
    {"hr_work_cancel", "(J)J", (void*)raw_hr_work_cancel},
    {"hr_send_start", "(JJJIIIJ)J", (void*)raw_hr_send_start},
    {"hr_recv_start", "(JJJIIIJ)J", (void*)raw_hr_recv_start},
    {"hr_barrier_start", "(JJ)J", (void*)raw_hr_barrier_start},
    {"hr_broadcast_start", "(JJJJIIJ)J", (void*)raw_hr_broadcast_start},
    {"hr_reduce_start", "(JJJJIIIJ)J", (void*)raw_hr_reduce_start},
    {"hr_all_reduce_start", "(JJJJIIJ)J", (void*)raw_hr_all_reduce_start},
    {"hr_gather_start", "(JJJJIIJ)J", (void*)raw_hr_gather_start},
    {"hr_all_gather_start", "(JJJJIJ)J", (void*)raw_hr_all_gather_start},
    {"hr_scatter_start", "(JJJJIIJ)J", (void*)raw_hr_scatter_start},
    {"hr_reduce_scatter_start", "(JJJJIIJ)J", (void*)raw_hr_reduce_scatter_start},
    {"hr_all_to_all_start", "(JJJJIJ)J", (void*)raw_hr_all_to_all_start},
    {"hr_group_start", "(JJJ)J", (void*)raw_hr_group_start},
    {"hr_group_run", "(JJJ)J", (void*)raw_hr_group_run},
    {"hr_group_explain", "(JJJ)J", (void*)raw_hr_group_explain},
    {"hr_session_bind_group", "(JJJJ)J", (void*)raw_hr_session_bind_group},
    {"hr_session_broadcast", "(JJIJ)J", (void*)raw_hr_session_broadcast},
    {"hr_graph_body", "(JJJJ)J", (void*)raw_hr_graph_body},
    {"hr_graph_input_sequence", "(JJIJ)J", (void*)raw_hr_graph_input_sequence},
    {"hr_graph_if", "(JIIIJJJJ)J", (void*)raw_hr_graph_if},
    {"hr_graph_loop", "(JIIIJJJJJJ)J", (void*)raw_hr_graph_loop},
    {"hr_graph_scan", "(JIJJJJJJJJJ)J", (void*)raw_hr_graph_scan},
    {"hr_graph_call", "(JIJJJJ)J", (void*)raw_hr_graph_call},
    {"hr_node_spec_body", "(JJI)V", (void*)raw_hr_node_spec_body},
    {"hr_env_create", "(JJ)J", (void*)raw_hr_env_create},
    {"hr_env_release", "(J)V", (void*)raw_hr_env_release},
    {"hr_env_load_plugin", "(JJ)J", (void*)raw_hr_env_load_plugin},
    {"hr_env_describe", "(JJ)J", (void*)raw_hr_env_describe},
    {"hr_graph_create", "(JJ)J", (void*)raw_hr_graph_create},
    {"hr_graph_release", "(J)V", (void*)raw_hr_graph_release},
    {"hr_graph_input", "(JJIJJJJ)J", (void*)raw_hr_graph_input},
    {"hr_graph_bound", "(JJJJJJ)J", (void*)raw_hr_graph_bound},
    {"hr_graph_constant", "(JJJJ)J", (void*)raw_hr_graph_constant},
    {"hr_graph_variable", "(JJJIJ)J", (void*)raw_hr_graph_variable},
    {"hr_graph_variable_init", "(JJIJJIJJJ)J", (void*)raw_hr_graph_variable_init},
    {"hr_graph_read", "(JIJ)J", (void*)raw_hr_graph_read},
    {"hr_graph_assign", "(JIIJ)J", (void*)raw_hr_graph_assign},
    {"hr_graph_assign_add", "(JIIJ)J", (void*)raw_hr_graph_assign_add},
    {"hr_graph_set_trainable", "(JII)J", (void*)raw_hr_graph_set_trainable},
    {"hr_graph_op", "(JJJJJJJ)J", (void*)raw_hr_graph_op},
    {"hr_graph_device", "(JJ)J", (void*)raw_hr_graph_device},
    {"hr_node_spec_create", "(JJ)J", (void*)raw_hr_node_spec_create},
    {"hr_node_spec_release", "(J)V", (void*)raw_hr_node_spec_release},
    {"hr_node_spec_name", "(JJ)V", (void*)raw_hr_node_spec_name},
    {"hr_node_spec_device", "(JJ)V", (void*)raw_hr_node_spec_device},
    {"hr_node_spec_input", "(JI)V", (void*)raw_hr_node_spec_input},
    {"hr_node_spec_control", "(JI)V", (void*)raw_hr_node_spec_control},
    {"hr_node_spec_int", "(JJJ)V", (void*)raw_hr_node_spec_int},
    {"hr_node_spec_float", "(JJD)V", (void*)raw_hr_node_spec_float},
    {"hr_node_spec_string", "(JJJ)V", (void*)raw_hr_node_spec_string},
    {"hr_node_spec_ints", "(JJJJ)V", (void*)raw_hr_node_spec_ints},
    {"hr_node_spec_floats", "(JJJJ)V", (void*)raw_hr_node_spec_floats},
    {"hr_node_spec_strings", "(JJJJ)V", (void*)raw_hr_node_spec_strings},
    {"hr_node_spec_tensor", "(JJJ)V", (void*)raw_hr_node_spec_tensor},
    {"hr_graph_add", "(JJJJJ)J", (void*)raw_hr_graph_add},
    {"hr_graph_replace", "(JII)J", (void*)raw_hr_graph_replace},
    {"hr_graph_name_value", "(JIJ)J", (void*)raw_hr_graph_name_value},
    {"hr_graph_dense", "(JJIJJ)J", (void*)raw_hr_graph_dense},
    {"hr_graph_conv2d", "(JJIJJJJ)J", (void*)raw_hr_graph_conv2d},
    {"hr_graph_batch_norm", "(JJIIJJJ)J", (void*)raw_hr_graph_batch_norm},
    {"hr_graph_add_gradients", "(JIJJJ)J", (void*)raw_hr_graph_add_gradients},
    {"hr_graph_variable_gradients", "(JIJJJ)J", (void*)raw_hr_graph_variable_gradients},
    {"hr_graph_apply_gradients", "(JJJIJJJ)J", (void*)raw_hr_graph_apply_gradients},
    {"hr_graph_minimize", "(JJIJI)J", (void*)raw_hr_graph_minimize},
    {"hr_graph_signature_input", "(JJJI)J", (void*)raw_hr_graph_signature_input},
    {"hr_graph_signature_output", "(JJJI)J", (void*)raw_hr_graph_signature_output},
    {"hr_graph_signature_target", "(JJI)J", (void*)raw_hr_graph_signature_target},
    {"hr_graph_remove_signature", "(JJ)J", (void*)raw_hr_graph_remove_signature},
    {"hr_graph_prune", "(J)J", (void*)raw_hr_graph_prune},
    {"hr_graph_set_metadata", "(JJJ)J", (void*)raw_hr_graph_set_metadata},
    {"hr_graph_save", "(JJJ)J", (void*)raw_hr_graph_save},
    {"hr_graph_get", "(JJ)J", (void*)raw_hr_graph_get},
    {"hr_graph_get_value", "(JIJ)J", (void*)raw_hr_graph_get_value},
    {"hr_graph_get_node", "(JIJ)J", (void*)raw_hr_graph_get_node},
    {"hr_graph_get_variable", "(JIJ)J", (void*)raw_hr_graph_get_variable},
    {"hr_graph_get_signature", "(JJJ)J", (void*)raw_hr_graph_get_signature},
    {"hr_graph_get_attribute", "(JIJJ)J", (void*)raw_hr_graph_get_attribute},
    {"hr_graph_find_value", "(JJJ)J", (void*)raw_hr_graph_find_value},
    {"hr_graph_find_node", "(JJJ)J", (void*)raw_hr_graph_find_node},
    {"hr_graph_find_variable", "(JJJ)J", (void*)raw_hr_graph_find_variable},
    {"hr_graph_find_signature", "(JJJ)J", (void*)raw_hr_graph_find_signature},
    {"hr_graph_node_int", "(JIJJJ)J", (void*)raw_hr_graph_node_int},
    {"hr_graph_node_float", "(JIJDJ)J", (void*)raw_hr_graph_node_float},
    {"hr_graph_node_string", "(JIJJJ)J", (void*)raw_hr_graph_node_string},
    {"hr_graph_node_ints", "(JIJJJ)J", (void*)raw_hr_graph_node_ints},
    {"hr_graph_node_floats", "(JIJJJ)J", (void*)raw_hr_graph_node_floats},
    {"hr_graph_node_strings", "(JIJJJ)J", (void*)raw_hr_graph_node_strings},
    {"hr_graph_node_tensor", "(JIJJ)J", (void*)raw_hr_graph_node_tensor},
    {"hr_graph_value_tensor", "(JIJ)J", (void*)raw_hr_graph_value_tensor},
    {"hr_graph_variable_tensor", "(JIJ)J", (void*)raw_hr_graph_variable_tensor},
    {"hr_graph_type_of", "(JIJ)J", (void*)raw_hr_graph_type_of},
    {"hr_model_load", "(JJJJ)J", (void*)raw_hr_model_load},
    {"hr_model_load_memory", "(JJJJJJJ)J", (void*)raw_hr_model_load_memory},
    {"hr_model_load_callback", "(JJJJ)J", (void*)raw_hr_model_load_callback},
    {"hr_model_from_graph", "(JJ)J", (void*)raw_hr_model_from_graph},
    {"hr_graph_from_model", "(JJ)J", (void*)raw_hr_graph_from_model},
    {"hr_model_release", "(J)V", (void*)raw_hr_model_release},
    {"hr_model_convert", "(JJJJJJ)J", (void*)raw_hr_model_convert},
    {"hr_model_export", "(JJJJJJ)J", (void*)raw_hr_model_export},
    {"hr_tensor_load", "(JJJJ)J", (void*)raw_hr_tensor_load},
    {"hr_model_describe", "(JJ)J", (void*)raw_hr_model_describe},
    {"hr_model_view", "(JJJJ)J", (void*)raw_hr_model_view},
    {"hr_model_graph_text", "(JJJ)J", (void*)raw_hr_model_graph_text},
    {"hr_model_file_describe", "(JJ)J", (void*)raw_hr_model_file_describe},
    {"hr_env_add_operator", "(JJ)J", (void*)raw_hr_env_add_operator},
    {"hr_op_input_count", "(J)J", (void*)raw_hr_op_input_count},
    {"hr_op_output_count", "(J)J", (void*)raw_hr_op_output_count},
    {"hr_op_int", "(JJJ)J", (void*)raw_hr_op_int},
    {"hr_op_float", "(JJD)D", (void*)raw_hr_op_float},
    {"hr_op_string", "(JJJ)J", (void*)raw_hr_op_string},
    {"hr_op_ints", "(JJJ)J", (void*)raw_hr_op_ints},
    {"hr_op_floats", "(JJJ)J", (void*)raw_hr_op_floats},
    {"hr_op_input_type", "(JJJJ)I", (void*)raw_hr_op_input_type},
    {"hr_op_set_output", "(JJIIJ)J", (void*)raw_hr_op_set_output},
    {"hr_op_set_output_like", "(JJJ)J", (void*)raw_hr_op_set_output_like},
    {"hr_op_input_tensor", "(JJ)J", (void*)raw_hr_op_input_tensor},
    {"hr_op_output_tensor", "(JJ)J", (void*)raw_hr_op_output_tensor},
    {"hr_op_parallel_for", "(JIJJ)V", (void*)raw_hr_op_parallel_for},
    {"hr_op_input", "(JJ)I", (void*)raw_hr_op_input},
    {"hr_op_output", "(JJ)I", (void*)raw_hr_op_output},
    {"hr_op_output_gradient", "(JJ)I", (void*)raw_hr_op_output_gradient},
    {"hr_op_wants_gradient", "(JJ)I", (void*)raw_hr_op_wants_gradient},
    {"hr_op_add", "(JJJJJJJ)J", (void*)raw_hr_op_add},
    {"hr_op_scalar", "(JDIJ)J", (void*)raw_hr_op_scalar},
    {"hr_op_set_gradient", "(JJI)J", (void*)raw_hr_op_set_gradient},
    {"hr_queue_create", "(JJ)J", (void*)raw_hr_queue_create},
    {"hr_queue_release", "(J)V", (void*)raw_hr_queue_release},
    {"hr_queue_poll", "(JJJ)J", (void*)raw_hr_queue_poll},
    {"hr_queue_wait", "(JJJ)J", (void*)raw_hr_queue_wait},
    {"hr_queue_descriptor", "(JJ)J", (void*)raw_hr_queue_descriptor},
    {"hr_session_create", "(JJJJ)J", (void*)raw_hr_session_create},
    {"hr_session_close", "(J)V", (void*)raw_hr_session_close},
    {"hr_session_release", "(J)V", (void*)raw_hr_session_release},
    {"hr_session_trim", "(J)V", (void*)raw_hr_session_trim},
    {"hr_session_run", "(JJJJJJJJJJ)J", (void*)raw_hr_session_run},
    {"hr_session_variable_count", "(J)J", (void*)raw_hr_session_variable_count},
    {"hr_session_variable_name", "(JJ)J", (void*)raw_hr_session_variable_name},
    {"hr_session_get_variable", "(JJJJ)J", (void*)raw_hr_session_get_variable},
    {"hr_session_set_variable", "(JJJJ)J", (void*)raw_hr_session_set_variable},
    {"hr_session_describe", "(JJ)J", (void*)raw_hr_session_describe},
    {"hr_call_create", "(JJJ)J", (void*)raw_hr_call_create},
    {"hr_call_create_custom", "(JJJJJJJJ)J", (void*)raw_hr_call_create_custom},
    {"hr_call_release", "(J)V", (void*)raw_hr_call_release},
    {"hr_call_bind", "(JJJ)J", (void*)raw_hr_call_bind},
    {"hr_call_bind_scalar", "(JJD)J", (void*)raw_hr_call_bind_scalar},
    {"hr_call_output", "(JJJJ)J", (void*)raw_hr_call_output},
    {"hr_call_bind_output", "(JJJ)J", (void*)raw_hr_call_bind_output},
    {"hr_call_output_type", "(JJJJJ)J", (void*)raw_hr_call_output_type},
    {"hr_call_run", "(JJ)J", (void*)raw_hr_call_run},
    {"hr_call_start", "(JJJ)J", (void*)raw_hr_call_start},
    {"hr_run_release", "(J)V", (void*)raw_hr_run_release},
    {"hr_run_test", "(J)I", (void*)raw_hr_run_test},
    {"hr_run_wait", "(JJ)J", (void*)raw_hr_run_wait},
    {"hr_run_on_done", "(JJJ)J", (void*)raw_hr_run_on_done},
    {"hr_run_enqueue", "(JJJ)J", (void*)raw_hr_run_enqueue},
    {"hr_run_cancel", "(J)V", (void*)raw_hr_run_cancel},
    {"hr_call_result", "(JJJ)J", (void*)raw_hr_call_result},
    {"hr_call_take_result", "(JJJ)J", (void*)raw_hr_call_take_result},
    {"hr_call_describe", "(JJ)J", (void*)raw_hr_call_describe},
    {"hr_call_profile", "(JJJ)J", (void*)raw_hr_call_profile},
    {"hr_tensor_create", "(JIJJJ)J", (void*)raw_hr_tensor_create},
    {"hr_tensor_copy_of", "(JIJJJJJ)J", (void*)raw_hr_tensor_copy_of},
    {"hr_tensor_wrap", "(IJJJJJJJ)J", (void*)raw_hr_tensor_wrap},
    {"hr_tensor_wrap_strided", "(IJJJJJJJJ)J", (void*)raw_hr_tensor_wrap_strided},
    {"hr_tensor_release", "(J)V", (void*)raw_hr_tensor_release},
    {"hr_tensor_share", "(JJ)J", (void*)raw_hr_tensor_share},
    {"hr_tensor_dtype", "(J)I", (void*)raw_hr_tensor_dtype},
    {"hr_tensor_rank", "(J)J", (void*)raw_hr_tensor_rank},
    {"hr_tensor_dims", "(J)J", (void*)raw_hr_tensor_dims},
    {"hr_tensor_elements", "(J)J", (void*)raw_hr_tensor_elements},
    {"hr_tensor_bytes", "(J)J", (void*)raw_hr_tensor_bytes},
    {"hr_tensor_data", "(J)J", (void*)raw_hr_tensor_data},
    {"hr_tensor_read_only", "(J)I", (void*)raw_hr_tensor_read_only},
    {"hr_tensor_device", "(JJ)I", (void*)raw_hr_tensor_device},
    {"hr_tensor_device_data", "(J)J", (void*)raw_hr_tensor_device_data},
    {"hr_tensor_strides", "(J)J", (void*)raw_hr_tensor_strides},
    {"hr_tensor_from_dlpack", "(JJ)J", (void*)raw_hr_tensor_from_dlpack},
    {"hr_tensor_to_dlpack", "(JJ)J", (void*)raw_hr_tensor_to_dlpack},
    {"hr_dataset_open", "(JJJ)J", (void*)raw_hr_dataset_open},
    {"hr_dataset_from_tensors", "(JJJJJJ)J", (void*)raw_hr_dataset_from_tensors},
    {"hr_dataset_from_callbacks", "(JJJJJJ)J", (void*)raw_hr_dataset_from_callbacks},
    {"hr_dataset_release", "(J)V", (void*)raw_hr_dataset_release},
    {"hr_dataset_done", "(JJ)I", (void*)raw_hr_dataset_done},
    {"hr_dataset_batches", "(J)J", (void*)raw_hr_dataset_batches},
    {"hr_dataset_rewind", "(JJ)J", (void*)raw_hr_dataset_rewind},
    {"hr_dataset_field_count", "(J)J", (void*)raw_hr_dataset_field_count},
    {"hr_dataset_field_name", "(JJ)J", (void*)raw_hr_dataset_field_name},
    {"hr_dataset_next", "(JJJ)J", (void*)raw_hr_dataset_next},
    {"hr_dataset_rename", "(JJJ)J", (void*)raw_hr_dataset_rename},
    {"hr_dataset_describe", "(JJ)J", (void*)raw_hr_dataset_describe},
    {"hr_dataset_position", "(JJ)J", (void*)raw_hr_dataset_position},
    {"hr_dataset_seek", "(JJJ)J", (void*)raw_hr_dataset_seek},
    {"hr_dataset_reshard", "(JJJJ)J", (void*)raw_hr_dataset_reshard},
    {"hr_dataset_map", "(JJJJJ)J", (void*)raw_hr_dataset_map},
    {"hr_dataset_filter", "(JJJJJ)J", (void*)raw_hr_dataset_filter},
    {"hr_dataset_cache", "(JJJJ)J", (void*)raw_hr_dataset_cache},
    {"hr_call_bind_dataset", "(JJ)J", (void*)raw_hr_call_bind_dataset},
    {"hr_session_save", "(JJJJ)J", (void*)raw_hr_session_save},
    {"hr_session_restore", "(JJJJJ)J", (void*)raw_hr_session_restore},
    {"hr_session_step", "(J)J", (void*)raw_hr_session_step},
    {"hr_checkpoint_describe", "(JJ)J", (void*)raw_hr_checkpoint_describe},
    {"hr_weights_describe", "(JJ)J", (void*)raw_hr_weights_describe},
    {"hr_session_export_weights", "(JJJJJ)J", (void*)raw_hr_session_export_weights},
    {"hr_session_import_weights", "(JJJJJ)J", (void*)raw_hr_session_import_weights},
    {"hr_session_export", "(JJJJJJ)J", (void*)raw_hr_session_export},
    {"hr_session_save_adapters", "(JJJ)J", (void*)raw_hr_session_save_adapters},
    {"hr_session_load_adapters", "(JJJ)J", (void*)raw_hr_session_load_adapters},
    {"hr_summary_open", "(JJ)J", (void*)raw_hr_summary_open},
    {"hr_summary_release", "(J)V", (void*)raw_hr_summary_release},
    {"hr_summary_scalar", "(JJJD)J", (void*)raw_hr_summary_scalar},
    {"hr_summary_histogram", "(JJJJ)J", (void*)raw_hr_summary_histogram},
    {"hr_summary_images", "(JJJJJ)J", (void*)raw_hr_summary_images},
    {"hr_summary_text", "(JJJJ)J", (void*)raw_hr_summary_text},
    {"hr_summary_graph", "(JJ)J", (void*)raw_hr_summary_graph},
    {"hr_summary_flush", "(J)J", (void*)raw_hr_summary_flush},
    {"hr_train", "(JJJJ)J", (void*)raw_hr_train},
    {"hr_evaluate", "(JJJJJ)J", (void*)raw_hr_evaluate},
    {"hr_evaluate_metrics", "(JJJJJ)J", (void*)raw_hr_evaluate_metrics},
    {"hr_graph_quantize", "(JJJJJJJ)J", (void*)raw_hr_graph_quantize},
    {"hr_progress_create", "(JJJJJ)J", (void*)raw_hr_progress_create},
    {"hr_progress_update", "(JJJJD)V", (void*)raw_hr_progress_update},
    {"hr_progress_message", "(JJ)V", (void*)raw_hr_progress_message},
    {"hr_progress_release", "(J)V", (void*)raw_hr_progress_release},
    {"hr_graph_schedule", "(JJJJ)J", (void*)raw_hr_graph_schedule},
    {"hr_graph_clip_gradients", "(JJJJJ)J", (void*)raw_hr_graph_clip_gradients},
    {"hr_graph_set_trainable_matching", "(JJIJ)J", (void*)raw_hr_graph_set_trainable_matching},
    {"hr_graph_minimize_groups", "(JJIJJ)J", (void*)raw_hr_graph_minimize_groups},
    {"hr_graph_average_signature", "(JJJ)J", (void*)raw_hr_graph_average_signature},
    {"hr_graph_swap_averages", "(JJ)J", (void*)raw_hr_graph_swap_averages},
    {"hr_graph_copy_signature", "(JJJ)J", (void*)raw_hr_graph_copy_signature},
    {"hr_graph_metric", "(JJJJJJ)J", (void*)raw_hr_graph_metric},
    {"hr_graph_distribute", "(JJJJ)J", (void*)raw_hr_graph_distribute},
    {"hr_graph_add_lora", "(JJJJJ)J", (void*)raw_hr_graph_add_lora},
    {"hr_graph_load_adapters", "(JJJ)J", (void*)raw_hr_graph_load_adapters},
    {"call_hr_executor_parallel_for_fn", "(JJI)V", (void*)raw_call_hr_executor_parallel_for_fn},
    {"call_hr_dlpack_deleter", "(JJ)V", (void*)raw_call_hr_dlpack_deleter},
};
const jint raw_native_count = sizeof raw_natives / sizeof *raw_natives;

/* ---- Functions of Java, called by C ---- */

enum {
  CALLBACK_RELEASE,
  CALLBACK_DELETER,
  CALLBACK_HR_WORK_ON_DONE_CALLBACK,
  CALLBACK_HR_OP_PARALLEL_FOR_FN,
  CALLBACK_HR_RUN_ON_DONE_CALLBACK,
  CALLBACK_HR_LIMITS_INTERRUPTED,
  CALLBACK_HR_STORE_CALLBACKS_GET,
  CALLBACK_HR_STORE_CALLBACKS_COMPARE_AND_SWAP,
  CALLBACK_HR_STORE_CALLBACKS_REMOVE,
  CALLBACK_HR_ALLOCATOR_ALLOCATE,
  CALLBACK_HR_ALLOCATOR_DEALLOCATE,
  CALLBACK_HR_LOG_SINK_WRITE,
  CALLBACK_HR_CLOCK_NOW_NANOS,
  CALLBACK_HR_EXECUTOR_PARALLEL_FOR,
  CALLBACK_HR_READER_READ,
  CALLBACK_HR_OPERATOR_INFER,
  CALLBACK_HR_OPERATOR_COMPUTE,
  CALLBACK_HR_OPERATOR_GRADIENT,
  CALLBACK_HR_DATASET_CALLBACKS_NEXT,
  CALLBACK_HR_DATASET_CALLBACKS_SEEK,
  CALLBACK_HR_TRAIN_OPTIONS_ON_STEP,
  CALLBACK_HR_TRAIN_OPTIONS_ON_MESSAGE,
  CALLBACK_HR_TRAIN_OPTIONS_ON_EVALUATE,
  CALLBACK_COUNT
};

static jmethodID methods[CALLBACK_COUNT];

static void on_release(void* context) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_RELEASE],
                               (jlong)(intptr_t)context);
  bridge_leave(env);
}

static void on_deleter(hr_dlpack* self) {
  on_release(self->manager_ctx);
}

static void on_hr_work_on_done_callback(void* context, const hr_status* status) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_WORK_ON_DONE_CALLBACK], (jlong)(intptr_t)context, (jlong)(intptr_t)status);
  bridge_leave(env);
}

static void on_hr_op_parallel_for_fn(void* fn_context, int task) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_OP_PARALLEL_FOR_FN], (jlong)(intptr_t)fn_context, (jint)task);
  bridge_leave(env);
}

static void on_hr_run_on_done_callback(void* context, const hr_status* status) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_RUN_ON_DONE_CALLBACK], (jlong)(intptr_t)context, (jlong)(intptr_t)status);
  bridge_leave(env);
}

static int on_hr_limits_interrupted(void* context) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return 0;
  jint result = (*env)->CallStaticIntMethod(env, bridge_callbacks, methods[CALLBACK_HR_LIMITS_INTERRUPTED], (jlong)(intptr_t)context);
  return bridge_leave(env) ? (int)result : 0;
}

static hr_status* on_hr_store_callbacks_get(void* context, const char* key, char* value, size_t capacity, int64_t* out_size) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_STORE_CALLBACKS_GET], (jlong)(intptr_t)context, (jlong)(intptr_t)key, (jlong)(intptr_t)value, (jlong)capacity, (jlong)(intptr_t)out_size));
}

static hr_status* on_hr_store_callbacks_compare_and_swap(void* context, const char* key, const char* expected, size_t expected_size, const char* desired, size_t desired_size, int32_t* out_swapped) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_STORE_CALLBACKS_COMPARE_AND_SWAP], (jlong)(intptr_t)context, (jlong)(intptr_t)key, (jlong)(intptr_t)expected, (jlong)expected_size, (jlong)(intptr_t)desired, (jlong)desired_size, (jlong)(intptr_t)out_swapped));
}

static hr_status* on_hr_store_callbacks_remove(void* context, const char* key) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_STORE_CALLBACKS_REMOVE], (jlong)(intptr_t)context, (jlong)(intptr_t)key));
}

static void* on_hr_allocator_allocate(void* context, size_t bytes, size_t alignment) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return 0;
  jlong result = (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_ALLOCATOR_ALLOCATE], (jlong)(intptr_t)context, (jlong)bytes, (jlong)alignment);
  return bridge_leave(env) ? (void*)(intptr_t)result : 0;
}

static void on_hr_allocator_deallocate(void* context, void* data, size_t bytes, size_t alignment) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_ALLOCATOR_DEALLOCATE], (jlong)(intptr_t)context, (jlong)(intptr_t)data, (jlong)bytes, (jlong)alignment);
  bridge_leave(env);
}

static void on_hr_log_sink_write(void* context, hr_log_level level, const char* message) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_LOG_SINK_WRITE], (jlong)(intptr_t)context, (jint)level, (jlong)(intptr_t)message);
  bridge_leave(env);
}

static int64_t on_hr_clock_now_nanos(void* context) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return 0;
  jlong result = (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_CLOCK_NOW_NANOS], (jlong)(intptr_t)context);
  return bridge_leave(env) ? (int64_t)result : 0;
}

static void on_hr_executor_parallel_for(void* context, int32_t tasks, int32_t threads, void (*fn)(void* fn_context, int task), void* fn_context) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_EXECUTOR_PARALLEL_FOR], (jlong)(intptr_t)context, (jint)tasks, (jint)threads, (jlong)(intptr_t)fn, (jlong)(intptr_t)fn_context);
  bridge_leave(env);
}

static hr_status* on_hr_reader_read(void* context, uint64_t offset, void* out, size_t bytes) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_READER_READ], (jlong)(intptr_t)context, (jlong)offset, (jlong)(intptr_t)out, (jlong)bytes));
}

static hr_status* on_hr_operator_infer(void* context, hr_op* op) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_OPERATOR_INFER], (jlong)(intptr_t)context, (jlong)(intptr_t)op));
}

static hr_status* on_hr_operator_compute(void* context, hr_op* op) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_OPERATOR_COMPUTE], (jlong)(intptr_t)context, (jlong)(intptr_t)op));
}

static hr_status* on_hr_operator_gradient(void* context, hr_op* op) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_OPERATOR_GRADIENT], (jlong)(intptr_t)context, (jlong)(intptr_t)op));
}

static hr_status* on_hr_dataset_callbacks_next(void* context, int64_t examples, size_t field_count, hr_tensor** out, int32_t* out_end) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_DATASET_CALLBACKS_NEXT], (jlong)(intptr_t)context, (jlong)examples, (jlong)field_count, (jlong)(intptr_t)out, (jlong)(intptr_t)out_end));
}

static hr_status* on_hr_dataset_callbacks_seek(void* context, int64_t epoch, int64_t first_example) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_DATASET_CALLBACKS_SEEK], (jlong)(intptr_t)context, (jlong)epoch, (jlong)first_example));
}

static hr_status* on_hr_train_options_on_step(void* context, const hr_train_report* report, int32_t* out_stop) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_TRAIN_OPTIONS_ON_STEP], (jlong)(intptr_t)context, (jlong)(intptr_t)report, (jlong)(intptr_t)out_stop));
}

static void on_hr_train_options_on_message(void* context, const char* message) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethod(env, bridge_callbacks, methods[CALLBACK_HR_TRAIN_OPTIONS_ON_MESSAGE], (jlong)(intptr_t)context, (jlong)(intptr_t)message);
  bridge_leave(env);
}

static hr_status* on_hr_train_options_on_evaluate(void* context, const hr_train_report* report, size_t count, const char* const* names, const double* values) {
  JNIEnv* env = bridge_enter();
  if (env == NULL) return bridge_gone();
  return bridge_result(env, (*env)->CallStaticLongMethod(env, bridge_callbacks, methods[CALLBACK_HR_TRAIN_OPTIONS_ON_EVALUATE], (jlong)(intptr_t)context, (jlong)(intptr_t)report, (jlong)count, (jlong)(intptr_t)names, (jlong)(intptr_t)values));
}

static const struct {
  const char* name;
  const char* signature;
  void (*trampoline)(void);
} rows[CALLBACK_COUNT] = {
    {"release", "(J)V", (void (*)(void))on_release},
    {"release", "(J)V", (void (*)(void))on_deleter},
    {"hr_work_on_done_callback", "(JJ)V", (void (*)(void))on_hr_work_on_done_callback},
    {"hr_op_parallel_for_fn", "(JI)V", (void (*)(void))on_hr_op_parallel_for_fn},
    {"hr_run_on_done_callback", "(JJ)V", (void (*)(void))on_hr_run_on_done_callback},
    {"hr_limits_interrupted", "(J)I", (void (*)(void))on_hr_limits_interrupted},
    {"hr_store_callbacks_get", "(JJJJJ)J", (void (*)(void))on_hr_store_callbacks_get},
    {"hr_store_callbacks_compare_and_swap", "(JJJJJJJ)J", (void (*)(void))on_hr_store_callbacks_compare_and_swap},
    {"hr_store_callbacks_remove", "(JJ)J", (void (*)(void))on_hr_store_callbacks_remove},
    {"hr_allocator_allocate", "(JJJ)J", (void (*)(void))on_hr_allocator_allocate},
    {"hr_allocator_deallocate", "(JJJJ)V", (void (*)(void))on_hr_allocator_deallocate},
    {"hr_log_sink_write", "(JIJ)V", (void (*)(void))on_hr_log_sink_write},
    {"hr_clock_now_nanos", "(J)J", (void (*)(void))on_hr_clock_now_nanos},
    {"hr_executor_parallel_for", "(JIIJJ)V", (void (*)(void))on_hr_executor_parallel_for},
    {"hr_reader_read", "(JJJJ)J", (void (*)(void))on_hr_reader_read},
    {"hr_operator_infer", "(JJ)J", (void (*)(void))on_hr_operator_infer},
    {"hr_operator_compute", "(JJ)J", (void (*)(void))on_hr_operator_compute},
    {"hr_operator_gradient", "(JJ)J", (void (*)(void))on_hr_operator_gradient},
    {"hr_dataset_callbacks_next", "(JJJJJ)J", (void (*)(void))on_hr_dataset_callbacks_next},
    {"hr_dataset_callbacks_seek", "(JJJ)J", (void (*)(void))on_hr_dataset_callbacks_seek},
    {"hr_train_options_on_step", "(JJJ)J", (void (*)(void))on_hr_train_options_on_step},
    {"hr_train_options_on_message", "(JJ)V", (void (*)(void))on_hr_train_options_on_message},
    {"hr_train_options_on_evaluate", "(JJJJJ)J", (void (*)(void))on_hr_train_options_on_evaluate},
};

int raw_find_methods(JNIEnv* env) {
  for (int i = 0; i < CALLBACK_COUNT; ++i) {
    methods[i] = (*env)->GetStaticMethodID(env, bridge_callbacks, rows[i].name, rows[i].signature);
    if (methods[i] == NULL) return 0;
  }
  return 1;
}

jlong raw_trampoline(jint callback) {
  return callback < 0 || callback >= CALLBACK_COUNT ? 0 : (jlong)(intptr_t)rows[callback].trampoline;
}
