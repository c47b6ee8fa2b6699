// Made by `python3 -m bindings.generate rust` from docs/c_api.json; do not edit.

use headrace_sys::*;
use std::mem;

pub const LINES: &[(&str, i128)] = &[
    ("hr_limits", mem::size_of::<hr_limits>() as i128),
    ("hr_limits.struct_size", mem::offset_of!(hr_limits, struct_size) as i128),
    ("hr_limits.cancel", mem::offset_of!(hr_limits, cancel) as i128),
    ("hr_limits.timeout_nanos", mem::offset_of!(hr_limits, timeout_nanos) as i128),
    ("hr_limits.interrupted", mem::offset_of!(hr_limits, interrupted) as i128),
    ("hr_limits.context", mem::offset_of!(hr_limits, context) as i128),
    ("hr_store_options", mem::size_of::<hr_store_options>() as i128),
    ("hr_store_options.struct_size", mem::offset_of!(hr_store_options, struct_size) as i128),
    ("hr_store_options.serve", mem::offset_of!(hr_store_options, serve) as i128),
    ("hr_store_options.trusted_fabric", mem::offset_of!(hr_store_options, trusted_fabric) as i128),
    ("hr_store_options.secret", mem::offset_of!(hr_store_options, secret) as i128),
    ("hr_store_callbacks", mem::size_of::<hr_store_callbacks>() as i128),
    ("hr_store_callbacks.struct_size", mem::offset_of!(hr_store_callbacks, struct_size) as i128),
    ("hr_store_callbacks.context", mem::offset_of!(hr_store_callbacks, context) as i128),
    ("hr_store_callbacks.get", mem::offset_of!(hr_store_callbacks, get) as i128),
    ("hr_store_callbacks.compare_and_swap", mem::offset_of!(hr_store_callbacks, compare_and_swap) as i128),
    ("hr_store_callbacks.remove", mem::offset_of!(hr_store_callbacks, remove) as i128),
    ("hr_store_callbacks.release", mem::offset_of!(hr_store_callbacks, release) as i128),
    ("hr_group_options", mem::size_of::<hr_group_options>() as i128),
    ("hr_group_options.struct_size", mem::offset_of!(hr_group_options, struct_size) as i128),
    ("hr_group_options.rank", mem::offset_of!(hr_group_options, rank) as i128),
    ("hr_group_options.size", mem::offset_of!(hr_group_options, size) as i128),
    ("hr_group_options.epoch", mem::offset_of!(hr_group_options, epoch) as i128),
    ("hr_group_options.name", mem::offset_of!(hr_group_options, name) as i128),
    ("hr_group_options.store", mem::offset_of!(hr_group_options, store) as i128),
    ("hr_group_options.store_url", mem::offset_of!(hr_group_options, store_url) as i128),
    ("hr_group_options.transport", mem::offset_of!(hr_group_options, transport) as i128),
    ("hr_group_options.address", mem::offset_of!(hr_group_options, address) as i128),
    ("hr_group_options.trusted_fabric", mem::offset_of!(hr_group_options, trusted_fabric) as i128),
    ("hr_group_options.timeout_nanos", mem::offset_of!(hr_group_options, timeout_nanos) as i128),
    ("hr_group_options.silence_nanos", mem::offset_of!(hr_group_options, silence_nanos) as i128),
    ("hr_group_options.algorithms", mem::offset_of!(hr_group_options, algorithms) as i128),
    ("hr_group_options.dump_folder", mem::offset_of!(hr_group_options, dump_folder) as i128),
    ("hr_group_options.secret", mem::offset_of!(hr_group_options, secret) as i128),
    ("hr_group_options.calibration", mem::offset_of!(hr_group_options, calibration) as i128),
    ("hr_operation", mem::size_of::<hr_operation>() as i128),
    ("hr_operation.struct_size", mem::offset_of!(hr_operation, struct_size) as i128),
    ("hr_operation.kind", mem::offset_of!(hr_operation, kind) as i128),
    ("hr_operation.dtype", mem::offset_of!(hr_operation, dtype) as i128),
    ("hr_operation.count", mem::offset_of!(hr_operation, count) as i128),
    ("hr_operation.input", mem::offset_of!(hr_operation, input) as i128),
    ("hr_operation.output", mem::offset_of!(hr_operation, output) as i128),
    ("hr_operation.op", mem::offset_of!(hr_operation, op) as i128),
    ("hr_operation.peer", mem::offset_of!(hr_operation, peer) as i128),
    ("hr_operation.tag", mem::offset_of!(hr_operation, tag) as i128),
    ("hr_operation.factor", mem::offset_of!(hr_operation, factor) as i128),
    ("hr_allocator", mem::size_of::<hr_allocator>() as i128),
    ("hr_allocator.struct_size", mem::offset_of!(hr_allocator, struct_size) as i128),
    ("hr_allocator.context", mem::offset_of!(hr_allocator, context) as i128),
    ("hr_allocator.allocate", mem::offset_of!(hr_allocator, allocate) as i128),
    ("hr_allocator.deallocate", mem::offset_of!(hr_allocator, deallocate) as i128),
    ("hr_allocator.release", mem::offset_of!(hr_allocator, release) as i128),
    ("hr_log_sink", mem::size_of::<hr_log_sink>() as i128),
    ("hr_log_sink.struct_size", mem::offset_of!(hr_log_sink, struct_size) as i128),
    ("hr_log_sink.context", mem::offset_of!(hr_log_sink, context) as i128),
    ("hr_log_sink.write", mem::offset_of!(hr_log_sink, write) as i128),
    ("hr_log_sink.release", mem::offset_of!(hr_log_sink, release) as i128),
    ("hr_clock", mem::size_of::<hr_clock>() as i128),
    ("hr_clock.struct_size", mem::offset_of!(hr_clock, struct_size) as i128),
    ("hr_clock.context", mem::offset_of!(hr_clock, context) as i128),
    ("hr_clock.now_nanos", mem::offset_of!(hr_clock, now_nanos) as i128),
    ("hr_clock.release", mem::offset_of!(hr_clock, release) as i128),
    ("hr_executor", mem::size_of::<hr_executor>() as i128),
    ("hr_executor.struct_size", mem::offset_of!(hr_executor, struct_size) as i128),
    ("hr_executor.context", mem::offset_of!(hr_executor, context) as i128),
    ("hr_executor.concurrency", mem::offset_of!(hr_executor, concurrency) as i128),
    ("hr_executor.parallel_for", mem::offset_of!(hr_executor, parallel_for) as i128),
    ("hr_executor.release", mem::offset_of!(hr_executor, release) as i128),
    ("hr_env_options", mem::size_of::<hr_env_options>() as i128),
    ("hr_env_options.struct_size", mem::offset_of!(hr_env_options, struct_size) as i128),
    ("hr_env_options.allocator", mem::offset_of!(hr_env_options, allocator) as i128),
    ("hr_env_options.log", mem::offset_of!(hr_env_options, log) as i128),
    ("hr_env_options.clock", mem::offset_of!(hr_env_options, clock) as i128),
    ("hr_env_options.executor", mem::offset_of!(hr_env_options, executor) as i128),
    ("hr_env_options.threads", mem::offset_of!(hr_env_options, threads) as i128),
    ("hr_env_options.cost_table", mem::offset_of!(hr_env_options, cost_table) as i128),
    ("hr_save_options", mem::size_of::<hr_save_options>() as i128),
    ("hr_save_options.struct_size", mem::offset_of!(hr_save_options, struct_size) as i128),
    ("hr_save_options.strip_names", mem::offset_of!(hr_save_options, strip_names) as i128),
    ("hr_save_options.side_file", mem::offset_of!(hr_save_options, side_file) as i128),
    ("hr_save_options.merge_adapters", mem::offset_of!(hr_save_options, merge_adapters) as i128),
    ("hr_graph_info", mem::size_of::<hr_graph_info>() as i128),
    ("hr_graph_info.struct_size", mem::offset_of!(hr_graph_info, struct_size) as i128),
    ("hr_graph_info.value_count", mem::offset_of!(hr_graph_info, value_count) as i128),
    ("hr_graph_info.node_count", mem::offset_of!(hr_graph_info, node_count) as i128),
    ("hr_graph_info.variable_count", mem::offset_of!(hr_graph_info, variable_count) as i128),
    ("hr_graph_info.signature_count", mem::offset_of!(hr_graph_info, signature_count) as i128),
    ("hr_graph_info.input_count", mem::offset_of!(hr_graph_info, input_count) as i128),
    ("hr_graph_info.inputs", mem::offset_of!(hr_graph_info, inputs) as i128),
    ("hr_value_info", mem::size_of::<hr_value_info>() as i128),
    ("hr_value_info.struct_size", mem::offset_of!(hr_value_info, struct_size) as i128),
    ("hr_value_info.name", mem::offset_of!(hr_value_info, name) as i128),
    ("hr_value_info.dtype", mem::offset_of!(hr_value_info, dtype) as i128),
    ("hr_value_info.rank", mem::offset_of!(hr_value_info, rank) as i128),
    ("hr_value_info.dims", mem::offset_of!(hr_value_info, dims) as i128),
    ("hr_value_info.symbols", mem::offset_of!(hr_value_info, symbols) as i128),
    ("hr_value_info.producer", mem::offset_of!(hr_value_info, producer) as i128),
    ("hr_value_info.is_constant", mem::offset_of!(hr_value_info, is_constant) as i128),
    ("hr_node_info", mem::size_of::<hr_node_info>() as i128),
    ("hr_node_info.struct_size", mem::offset_of!(hr_node_info, struct_size) as i128),
    ("hr_node_info.name", mem::offset_of!(hr_node_info, name) as i128),
    ("hr_node_info.op", mem::offset_of!(hr_node_info, op) as i128),
    ("hr_node_info.version", mem::offset_of!(hr_node_info, version) as i128),
    ("hr_node_info.device", mem::offset_of!(hr_node_info, device) as i128),
    ("hr_node_info.input_count", mem::offset_of!(hr_node_info, input_count) as i128),
    ("hr_node_info.inputs", mem::offset_of!(hr_node_info, inputs) as i128),
    ("hr_node_info.output_count", mem::offset_of!(hr_node_info, output_count) as i128),
    ("hr_node_info.outputs", mem::offset_of!(hr_node_info, outputs) as i128),
    ("hr_node_info.control_count", mem::offset_of!(hr_node_info, control_count) as i128),
    ("hr_node_info.controls", mem::offset_of!(hr_node_info, controls) as i128),
    ("hr_node_info.attribute_count", mem::offset_of!(hr_node_info, attribute_count) as i128),
    ("hr_variable_info", mem::size_of::<hr_variable_info>() as i128),
    ("hr_variable_info.struct_size", mem::offset_of!(hr_variable_info, struct_size) as i128),
    ("hr_variable_info.name", mem::offset_of!(hr_variable_info, name) as i128),
    ("hr_variable_info.dtype", mem::offset_of!(hr_variable_info, dtype) as i128),
    ("hr_variable_info.rank", mem::offset_of!(hr_variable_info, rank) as i128),
    ("hr_variable_info.dims", mem::offset_of!(hr_variable_info, dims) as i128),
    ("hr_variable_info.trainable", mem::offset_of!(hr_variable_info, trainable) as i128),
    ("hr_signature_info", mem::size_of::<hr_signature_info>() as i128),
    ("hr_signature_info.struct_size", mem::offset_of!(hr_signature_info, struct_size) as i128),
    ("hr_signature_info.name", mem::offset_of!(hr_signature_info, name) as i128),
    ("hr_signature_info.input_count", mem::offset_of!(hr_signature_info, input_count) as i128),
    ("hr_signature_info.input_names", mem::offset_of!(hr_signature_info, input_names) as i128),
    ("hr_signature_info.inputs", mem::offset_of!(hr_signature_info, inputs) as i128),
    ("hr_signature_info.output_count", mem::offset_of!(hr_signature_info, output_count) as i128),
    ("hr_signature_info.output_names", mem::offset_of!(hr_signature_info, output_names) as i128),
    ("hr_signature_info.outputs", mem::offset_of!(hr_signature_info, outputs) as i128),
    ("hr_signature_info.target_count", mem::offset_of!(hr_signature_info, target_count) as i128),
    ("hr_signature_info.targets", mem::offset_of!(hr_signature_info, targets) as i128),
    ("hr_attribute_info", mem::size_of::<hr_attribute_info>() as i128),
    ("hr_attribute_info.struct_size", mem::offset_of!(hr_attribute_info, struct_size) as i128),
    ("hr_attribute_info.name", mem::offset_of!(hr_attribute_info, name) as i128),
    ("hr_attribute_info.kind", mem::offset_of!(hr_attribute_info, kind) as i128),
    ("hr_load_options", mem::size_of::<hr_load_options>() as i128),
    ("hr_load_options.struct_size", mem::offset_of!(hr_load_options, struct_size) as i128),
    ("hr_load_options.read_whole_file", mem::offset_of!(hr_load_options, read_whole_file) as i128),
    ("hr_load_options.verify_checksums", mem::offset_of!(hr_load_options, verify_checksums) as i128),
    ("hr_load_options.inspect_only", mem::offset_of!(hr_load_options, inspect_only) as i128),
    ("hr_reader", mem::size_of::<hr_reader>() as i128),
    ("hr_reader.struct_size", mem::offset_of!(hr_reader, struct_size) as i128),
    ("hr_reader.context", mem::offset_of!(hr_reader, context) as i128),
    ("hr_reader.total_bytes", mem::offset_of!(hr_reader, total_bytes) as i128),
    ("hr_reader.read", mem::offset_of!(hr_reader, read) as i128),
    ("hr_reader.release", mem::offset_of!(hr_reader, release) as i128),
    ("hr_convert_options", mem::size_of::<hr_convert_options>() as i128),
    ("hr_convert_options.struct_size", mem::offset_of!(hr_convert_options, struct_size) as i128),
    ("hr_convert_options.constants", mem::offset_of!(hr_convert_options, constants) as i128),
    ("hr_convert_options.simplify", mem::offset_of!(hr_convert_options, simplify) as i128),
    ("hr_export_options", mem::size_of::<hr_export_options>() as i128),
    ("hr_export_options.struct_size", mem::offset_of!(hr_export_options, struct_size) as i128),
    ("hr_export_options.external_data", mem::offset_of!(hr_export_options, external_data) as i128),
    ("hr_export_options.signature", mem::offset_of!(hr_export_options, signature) as i128),
    ("hr_graph_view", mem::size_of::<hr_graph_view>() as i128),
    ("hr_graph_view.struct_size", mem::offset_of!(hr_graph_view, struct_size) as i128),
    ("hr_graph_view.signature", mem::offset_of!(hr_graph_view, signature) as i128),
    ("hr_graph_view.graph", mem::offset_of!(hr_graph_view, graph) as i128),
    ("hr_op_tensor", mem::size_of::<hr_op_tensor>() as i128),
    ("hr_op_tensor.dtype", mem::offset_of!(hr_op_tensor, dtype) as i128),
    ("hr_op_tensor.rank", mem::offset_of!(hr_op_tensor, rank) as i128),
    ("hr_op_tensor.dims", mem::offset_of!(hr_op_tensor, dims) as i128),
    ("hr_op_tensor.data", mem::offset_of!(hr_op_tensor, data) as i128),
    ("hr_operator_attribute", mem::size_of::<hr_operator_attribute>() as i128),
    ("hr_operator_attribute.struct_size", mem::offset_of!(hr_operator_attribute, struct_size) as i128),
    ("hr_operator_attribute.name", mem::offset_of!(hr_operator_attribute, name) as i128),
    ("hr_operator_attribute.kind", mem::offset_of!(hr_operator_attribute, kind) as i128),
    ("hr_operator_attribute.required", mem::offset_of!(hr_operator_attribute, required) as i128),
    ("hr_operator", mem::size_of::<hr_operator>() as i128),
    ("hr_operator.struct_size", mem::offset_of!(hr_operator, struct_size) as i128),
    ("hr_operator.name", mem::offset_of!(hr_operator, name) as i128),
    ("hr_operator.version", mem::offset_of!(hr_operator, version) as i128),
    ("hr_operator.min_inputs", mem::offset_of!(hr_operator, min_inputs) as i128),
    ("hr_operator.max_inputs", mem::offset_of!(hr_operator, max_inputs) as i128),
    ("hr_operator.min_outputs", mem::offset_of!(hr_operator, min_outputs) as i128),
    ("hr_operator.max_outputs", mem::offset_of!(hr_operator, max_outputs) as i128),
    ("hr_operator.attribute_count", mem::offset_of!(hr_operator, attribute_count) as i128),
    ("hr_operator.attributes", mem::offset_of!(hr_operator, attributes) as i128),
    ("hr_operator.context", mem::offset_of!(hr_operator, context) as i128),
    ("hr_operator.release", mem::offset_of!(hr_operator, release) as i128),
    ("hr_operator.infer", mem::offset_of!(hr_operator, infer) as i128),
    ("hr_operator.compute", mem::offset_of!(hr_operator, compute) as i128),
    ("hr_operator.gradient", mem::offset_of!(hr_operator, gradient) as i128),
    ("hr_completion", mem::size_of::<hr_completion>() as i128),
    ("hr_completion.struct_size", mem::offset_of!(hr_completion, struct_size) as i128),
    ("hr_completion.key", mem::offset_of!(hr_completion, key) as i128),
    ("hr_completion.failure", mem::offset_of!(hr_completion, failure) as i128),
    ("hr_session_options", mem::size_of::<hr_session_options>() as i128),
    ("hr_session_options.struct_size", mem::offset_of!(hr_session_options, struct_size) as i128),
    ("hr_session_options.seed", mem::offset_of!(hr_session_options, seed) as i128),
    ("hr_session_options.max_plans", mem::offset_of!(hr_session_options, max_plans) as i128),
    ("hr_session_options.disable_fusion", mem::offset_of!(hr_session_options, disable_fusion) as i128),
    ("hr_session_options.device", mem::offset_of!(hr_session_options, device) as i128),
    ("hr_session_options.max_sizes", mem::offset_of!(hr_session_options, max_sizes) as i128),
    ("hr_session_options.check_memory", mem::offset_of!(hr_session_options, check_memory) as i128),
    ("hr_session_options.exact_sums", mem::offset_of!(hr_session_options, exact_sums) as i128),
    ("hr_session_options.memory_limit", mem::offset_of!(hr_session_options, memory_limit) as i128),
    ("hr_session_options.pin", mem::offset_of!(hr_session_options, pin) as i128),
    ("hr_dlpack_device", mem::size_of::<hr_dlpack_device>() as i128),
    ("hr_dlpack_device.device_type", mem::offset_of!(hr_dlpack_device, device_type) as i128),
    ("hr_dlpack_device.device_id", mem::offset_of!(hr_dlpack_device, device_id) as i128),
    ("hr_dlpack_dtype", mem::size_of::<hr_dlpack_dtype>() as i128),
    ("hr_dlpack_dtype.code", mem::offset_of!(hr_dlpack_dtype, code) as i128),
    ("hr_dlpack_dtype.bits", mem::offset_of!(hr_dlpack_dtype, bits) as i128),
    ("hr_dlpack_dtype.lanes", mem::offset_of!(hr_dlpack_dtype, lanes) as i128),
    ("hr_dlpack_version", mem::size_of::<hr_dlpack_version>() as i128),
    ("hr_dlpack_version.major", mem::offset_of!(hr_dlpack_version, major) as i128),
    ("hr_dlpack_version.minor", mem::offset_of!(hr_dlpack_version, minor) as i128),
    ("hr_dlpack_tensor", mem::size_of::<hr_dlpack_tensor>() as i128),
    ("hr_dlpack_tensor.data", mem::offset_of!(hr_dlpack_tensor, data) as i128),
    ("hr_dlpack_tensor.device", mem::offset_of!(hr_dlpack_tensor, device) as i128),
    ("hr_dlpack_tensor.ndim", mem::offset_of!(hr_dlpack_tensor, ndim) as i128),
    ("hr_dlpack_tensor.dtype", mem::offset_of!(hr_dlpack_tensor, dtype) as i128),
    ("hr_dlpack_tensor.shape", mem::offset_of!(hr_dlpack_tensor, shape) as i128),
    ("hr_dlpack_tensor.strides", mem::offset_of!(hr_dlpack_tensor, strides) as i128),
    ("hr_dlpack_tensor.byte_offset", mem::offset_of!(hr_dlpack_tensor, byte_offset) as i128),
    ("hr_dlpack", mem::size_of::<hr_dlpack>() as i128),
    ("hr_dlpack.version", mem::offset_of!(hr_dlpack, version) as i128),
    ("hr_dlpack.manager_ctx", mem::offset_of!(hr_dlpack, manager_ctx) as i128),
    ("hr_dlpack.deleter", mem::offset_of!(hr_dlpack, deleter) as i128),
    ("hr_dlpack.flags", mem::offset_of!(hr_dlpack, flags) as i128),
    ("hr_dlpack.dl_tensor", mem::offset_of!(hr_dlpack, dl_tensor) as i128),
    ("hr_dataset_options", mem::size_of::<hr_dataset_options>() as i128),
    ("hr_dataset_options.struct_size", mem::offset_of!(hr_dataset_options, struct_size) as i128),
    ("hr_dataset_options.batch", mem::offset_of!(hr_dataset_options, batch) as i128),
    ("hr_dataset_options.repeat", mem::offset_of!(hr_dataset_options, repeat) as i128),
    ("hr_dataset_options.shuffle", mem::offset_of!(hr_dataset_options, shuffle) as i128),
    ("hr_dataset_options.drop_remainder", mem::offset_of!(hr_dataset_options, drop_remainder) as i128),
    ("hr_dataset_options.seed", mem::offset_of!(hr_dataset_options, seed) as i128),
    ("hr_dataset_options.prefetch", mem::offset_of!(hr_dataset_options, prefetch) as i128),
    ("hr_dataset_options.shard_index", mem::offset_of!(hr_dataset_options, shard_index) as i128),
    ("hr_dataset_options.shard_count", mem::offset_of!(hr_dataset_options, shard_count) as i128),
    ("hr_dataset_callbacks", mem::size_of::<hr_dataset_callbacks>() as i128),
    ("hr_dataset_callbacks.struct_size", mem::offset_of!(hr_dataset_callbacks, struct_size) as i128),
    ("hr_dataset_callbacks.context", mem::offset_of!(hr_dataset_callbacks, context) as i128),
    ("hr_dataset_callbacks.next", mem::offset_of!(hr_dataset_callbacks, next) as i128),
    ("hr_dataset_callbacks.seek", mem::offset_of!(hr_dataset_callbacks, seek) as i128),
    ("hr_dataset_callbacks.release", mem::offset_of!(hr_dataset_callbacks, release) as i128),
    ("hr_dataset_callbacks.examples", mem::offset_of!(hr_dataset_callbacks, examples) as i128),
    ("hr_dataset_field", mem::size_of::<hr_dataset_field>() as i128),
    ("hr_dataset_field.struct_size", mem::offset_of!(hr_dataset_field, struct_size) as i128),
    ("hr_dataset_field.name", mem::offset_of!(hr_dataset_field, name) as i128),
    ("hr_dataset_field.dtype", mem::offset_of!(hr_dataset_field, dtype) as i128),
    ("hr_dataset_field.rank", mem::offset_of!(hr_dataset_field, rank) as i128),
    ("hr_dataset_field.dims", mem::offset_of!(hr_dataset_field, dims) as i128),
    ("hr_cache_options", mem::size_of::<hr_cache_options>() as i128),
    ("hr_cache_options.struct_size", mem::offset_of!(hr_cache_options, struct_size) as i128),
    ("hr_cache_options.path", mem::offset_of!(hr_cache_options, path) as i128),
    ("hr_cache_options.key", mem::offset_of!(hr_cache_options, key) as i128),
    ("hr_cache_options.options", mem::offset_of!(hr_cache_options, options) as i128),
    ("hr_checkpoint_options", mem::size_of::<hr_checkpoint_options>() as i128),
    ("hr_checkpoint_options.struct_size", mem::offset_of!(hr_checkpoint_options, struct_size) as i128),
    ("hr_checkpoint_options.keep", mem::offset_of!(hr_checkpoint_options, keep) as i128),
    ("hr_checkpoint_options.dataset", mem::offset_of!(hr_checkpoint_options, dataset) as i128),
    ("hr_checkpoint_options.group", mem::offset_of!(hr_checkpoint_options, group) as i128),
    ("hr_weights_options", mem::size_of::<hr_weights_options>() as i128),
    ("hr_weights_options.struct_size", mem::offset_of!(hr_weights_options, struct_size) as i128),
    ("hr_weights_options.partial", mem::offset_of!(hr_weights_options, partial) as i128),
    ("hr_weights_options.trainable", mem::offset_of!(hr_weights_options, trainable) as i128),
    ("hr_weights_options.names", mem::offset_of!(hr_weights_options, names) as i128),
    ("hr_train_report", mem::size_of::<hr_train_report>() as i128),
    ("hr_train_report.struct_size", mem::offset_of!(hr_train_report, struct_size) as i128),
    ("hr_train_report.step", mem::offset_of!(hr_train_report, step) as i128),
    ("hr_train_report.epoch", mem::offset_of!(hr_train_report, epoch) as i128),
    ("hr_train_report.loss", mem::offset_of!(hr_train_report, loss) as i128),
    ("hr_train_report.examples_per_second", mem::offset_of!(hr_train_report, examples_per_second) as i128),
    ("hr_train_report.evaluated", mem::offset_of!(hr_train_report, evaluated) as i128),
    ("hr_train_report.evaluation_loss", mem::offset_of!(hr_train_report, evaluation_loss) as i128),
    ("hr_train_report.evaluation_accuracy", mem::offset_of!(hr_train_report, evaluation_accuracy) as i128),
    ("hr_train_report.examples", mem::offset_of!(hr_train_report, examples) as i128),
    ("hr_train_report.learning_rate", mem::offset_of!(hr_train_report, learning_rate) as i128),
    ("hr_train_report.best", mem::offset_of!(hr_train_report, best) as i128),
    ("hr_train_report.best_step", mem::offset_of!(hr_train_report, best_step) as i128),
    ("hr_train_report.stopped_early", mem::offset_of!(hr_train_report, stopped_early) as i128),
    ("hr_train_options", mem::size_of::<hr_train_options>() as i128),
    ("hr_train_options.struct_size", mem::offset_of!(hr_train_options, struct_size) as i128),
    ("hr_train_options.train_signature", mem::offset_of!(hr_train_options, train_signature) as i128),
    ("hr_train_options.eval_signature", mem::offset_of!(hr_train_options, eval_signature) as i128),
    ("hr_train_options.train_data", mem::offset_of!(hr_train_options, train_data) as i128),
    ("hr_train_options.eval_data", mem::offset_of!(hr_train_options, eval_data) as i128),
    ("hr_train_options.max_steps", mem::offset_of!(hr_train_options, max_steps) as i128),
    ("hr_train_options.scalar_count", mem::offset_of!(hr_train_options, scalar_count) as i128),
    ("hr_train_options.scalar_names", mem::offset_of!(hr_train_options, scalar_names) as i128),
    ("hr_train_options.scalars", mem::offset_of!(hr_train_options, scalars) as i128),
    ("hr_train_options.checkpoint_directory", mem::offset_of!(hr_train_options, checkpoint_directory) as i128),
    ("hr_train_options.checkpoint_steps", mem::offset_of!(hr_train_options, checkpoint_steps) as i128),
    ("hr_train_options.keep_checkpoints", mem::offset_of!(hr_train_options, keep_checkpoints) as i128),
    ("hr_train_options.event_directory", mem::offset_of!(hr_train_options, event_directory) as i128),
    ("hr_train_options.summary_steps", mem::offset_of!(hr_train_options, summary_steps) as i128),
    ("hr_train_options.eval_steps", mem::offset_of!(hr_train_options, eval_steps) as i128),
    ("hr_train_options.on_step", mem::offset_of!(hr_train_options, on_step) as i128),
    ("hr_train_options.on_message", mem::offset_of!(hr_train_options, on_message) as i128),
    ("hr_train_options.context", mem::offset_of!(hr_train_options, context) as i128),
    ("hr_train_options.group", mem::offset_of!(hr_train_options, group) as i128),
    ("hr_train_options.best_metric", mem::offset_of!(hr_train_options, best_metric) as i128),
    ("hr_train_options.best_is_smallest", mem::offset_of!(hr_train_options, best_is_smallest) as i128),
    ("hr_train_options.restore_best", mem::offset_of!(hr_train_options, restore_best) as i128),
    ("hr_train_options.patience", mem::offset_of!(hr_train_options, patience) as i128),
    ("hr_train_options.on_evaluate", mem::offset_of!(hr_train_options, on_evaluate) as i128),
    ("hr_train_options.bound_group", mem::offset_of!(hr_train_options, bound_group) as i128),
    ("hr_train_options.elastic_group", mem::offset_of!(hr_train_options, elastic_group) as i128),
    ("hr_train_options.min_ranks", mem::offset_of!(hr_train_options, min_ranks) as i128),
    ("hr_train_options.max_ranks", mem::offset_of!(hr_train_options, max_ranks) as i128),
    ("hr_parameter_group", mem::size_of::<hr_parameter_group>() as i128),
    ("hr_parameter_group.struct_size", mem::offset_of!(hr_parameter_group, struct_size) as i128),
    ("hr_parameter_group.patterns", mem::offset_of!(hr_parameter_group, patterns) as i128),
    ("hr_parameter_group.optimizer", mem::offset_of!(hr_parameter_group, optimizer) as i128),
    ("hr_parameter_group.learning_rate", mem::offset_of!(hr_parameter_group, learning_rate) as i128),
    ("HR_OK", HR_OK as i128),
    ("HR_CANCELLED", HR_CANCELLED as i128),
    ("HR_UNKNOWN", HR_UNKNOWN as i128),
    ("HR_INVALID_ARGUMENT", HR_INVALID_ARGUMENT as i128),
    ("HR_DEADLINE_EXCEEDED", HR_DEADLINE_EXCEEDED as i128),
    ("HR_NOT_FOUND", HR_NOT_FOUND as i128),
    ("HR_ALREADY_EXISTS", HR_ALREADY_EXISTS as i128),
    ("HR_PERMISSION_DENIED", HR_PERMISSION_DENIED as i128),
    ("HR_RESOURCE_EXHAUSTED", HR_RESOURCE_EXHAUSTED as i128),
    ("HR_FAILED_PRECONDITION", HR_FAILED_PRECONDITION as i128),
    ("HR_ABORTED", HR_ABORTED as i128),
    ("HR_OUT_OF_RANGE", HR_OUT_OF_RANGE as i128),
    ("HR_UNIMPLEMENTED", HR_UNIMPLEMENTED as i128),
    ("HR_INTERNAL", HR_INTERNAL as i128),
    ("HR_UNAVAILABLE", HR_UNAVAILABLE as i128),
    ("HR_DATA_LOSS", HR_DATA_LOSS as i128),
    ("HR_UNAUTHENTICATED", HR_UNAUTHENTICATED as i128),
    ("HR_TAINTED", HR_TAINTED as i128),
    ("HR_ARBITER_LOST", HR_ARBITER_LOST as i128),
    ("HR_DEVICE_LOST", HR_DEVICE_LOST as i128),
    ("HR_UNDEFINED", HR_UNDEFINED as i128),
    ("HR_FLOAT32", HR_FLOAT32 as i128),
    ("HR_UINT8", HR_UINT8 as i128),
    ("HR_INT8", HR_INT8 as i128),
    ("HR_UINT16", HR_UINT16 as i128),
    ("HR_INT16", HR_INT16 as i128),
    ("HR_INT32", HR_INT32 as i128),
    ("HR_INT64", HR_INT64 as i128),
    ("HR_BOOL", HR_BOOL as i128),
    ("HR_FLOAT16", HR_FLOAT16 as i128),
    ("HR_FLOAT64", HR_FLOAT64 as i128),
    ("HR_UINT32", HR_UINT32 as i128),
    ("HR_UINT64", HR_UINT64 as i128),
    ("HR_BFLOAT16", HR_BFLOAT16 as i128),
    ("HR_FLOAT8E4M3FN", HR_FLOAT8E4M3FN as i128),
    ("HR_FLOAT8E4M3FNUZ", HR_FLOAT8E4M3FNUZ as i128),
    ("HR_FLOAT8E5M2", HR_FLOAT8E5M2 as i128),
    ("HR_FLOAT8E5M2FNUZ", HR_FLOAT8E5M2FNUZ as i128),
    ("HR_ATTRIBUTE_INT", HR_ATTRIBUTE_INT as i128),
    ("HR_ATTRIBUTE_FLOAT", HR_ATTRIBUTE_FLOAT as i128),
    ("HR_ATTRIBUTE_STRING", HR_ATTRIBUTE_STRING as i128),
    ("HR_ATTRIBUTE_INTS", HR_ATTRIBUTE_INTS as i128),
    ("HR_ATTRIBUTE_FLOATS", HR_ATTRIBUTE_FLOATS as i128),
    ("HR_ATTRIBUTE_STRINGS", HR_ATTRIBUTE_STRINGS as i128),
    ("HR_ATTRIBUTE_TENSOR", HR_ATTRIBUTE_TENSOR as i128),
    ("HR_ATTRIBUTE_GRAPH", HR_ATTRIBUTE_GRAPH as i128),
    ("HR_SUM", HR_SUM as i128),
    ("HR_PRODUCT", HR_PRODUCT as i128),
    ("HR_MIN", HR_MIN as i128),
    ("HR_MAX", HR_MAX as i128),
    ("HR_AVERAGE", HR_AVERAGE as i128),
    ("HR_PRE_MULTIPLIED_SUM", HR_PRE_MULTIPLIED_SUM as i128),
    ("HR_OPERATION_SEND", HR_OPERATION_SEND as i128),
    ("HR_OPERATION_RECV", HR_OPERATION_RECV as i128),
    ("HR_OPERATION_BARRIER", HR_OPERATION_BARRIER as i128),
    ("HR_OPERATION_BROADCAST", HR_OPERATION_BROADCAST as i128),
    ("HR_OPERATION_REDUCE", HR_OPERATION_REDUCE as i128),
    ("HR_OPERATION_ALL_REDUCE", HR_OPERATION_ALL_REDUCE as i128),
    ("HR_OPERATION_GATHER", HR_OPERATION_GATHER as i128),
    ("HR_OPERATION_ALL_GATHER", HR_OPERATION_ALL_GATHER as i128),
    ("HR_OPERATION_SCATTER", HR_OPERATION_SCATTER as i128),
    ("HR_OPERATION_REDUCE_SCATTER", HR_OPERATION_REDUCE_SCATTER as i128),
    ("HR_OPERATION_ALL_TO_ALL", HR_OPERATION_ALL_TO_ALL as i128),
    ("HR_FURTHEST", HR_FURTHEST as i128),
    ("HR_LOG_DEBUG", HR_LOG_DEBUG as i128),
    ("HR_LOG_INFO", HR_LOG_INFO as i128),
    ("HR_LOG_WARNING", HR_LOG_WARNING as i128),
    ("HR_LOG_ERROR", HR_LOG_ERROR as i128),
    ("HR_API_VERSION", HR_API_VERSION as i128),
    ("HR_NONE", HR_NONE as i128),
    ("HR_DLPACK_READ_ONLY", HR_DLPACK_READ_ONLY as i128),
];

/// The address of every function, so that the linker has to find it.
pub fn functions() -> Vec<*const ()> {
    vec![
        hr_api_version as *const (),
        hr_version_text as *const (),
        hr_status_code as *const (),
        hr_status_message as *const (),
        hr_status_node as *const (),
        hr_status_create as *const (),
        hr_status_release as *const (),
        hr_code_name as *const (),
        hr_text_data as *const (),
        hr_text_size as *const (),
        hr_text_release as *const (),
        hr_cancel_create as *const (),
        hr_cancel_trigger as *const (),
        hr_cancel_release as *const (),
        hr_dtype_size as *const (),
        hr_dtype_name as *const (),
        hr_launch_from_environment as *const (),
        hr_launch_release as *const (),
        hr_launch_rank as *const (),
        hr_launch_size as *const (),
        hr_launch_local_rank as *const (),
        hr_launch_local_size as *const (),
        hr_launch_epoch as *const (),
        hr_launch_min_ranks as *const (),
        hr_launch_max_ranks as *const (),
        hr_launch_store as *const (),
        hr_launch_describe as *const (),
        hr_store_open as *const (),
        hr_store_open_with as *const (),
        hr_store_url as *const (),
        hr_store_from_callbacks as *const (),
        hr_store_release as *const (),
        hr_group_create as *const (),
        hr_group_release as *const (),
        hr_group_close as *const (),
        hr_group_abort as *const (),
        hr_group_rank as *const (),
        hr_group_size as *const (),
        hr_group_epoch as *const (),
        hr_group_status as *const (),
        hr_group_describe as *const (),
        hr_group_dump as *const (),
        hr_dump_read as *const (),
        hr_group_split as *const (),
        hr_group_shrink as *const (),
        hr_group_grow as *const (),
        hr_group_waiting as *const (),
        hr_group_join as *const (),
        hr_send as *const (),
        hr_recv as *const (),
        hr_barrier as *const (),
        hr_broadcast as *const (),
        hr_reduce as *const (),
        hr_all_reduce as *const (),
        hr_gather as *const (),
        hr_all_gather as *const (),
        hr_scatter as *const (),
        hr_reduce_scatter as *const (),
        hr_all_to_all as *const (),
        hr_work_release as *const (),
        hr_work_test as *const (),
        hr_work_wait as *const (),
        hr_work_on_done as *const (),
        hr_work_enqueue as *const (),
        hr_work_cancel as *const (),
        hr_send_start as *const (),
        hr_recv_start as *const (),
        hr_barrier_start as *const (),
        hr_broadcast_start as *const (),
        hr_reduce_start as *const (),
        hr_all_reduce_start as *const (),
        hr_gather_start as *const (),
        hr_all_gather_start as *const (),
        hr_scatter_start as *const (),
        hr_reduce_scatter_start as *const (),
        hr_all_to_all_start as *const (),
        hr_group_start as *const (),
        hr_group_run as *const (),
        hr_group_explain as *const (),
        hr_session_bind_group as *const (),
        hr_session_broadcast as *const (),
        hr_graph_body as *const (),
        hr_graph_input_sequence as *const (),
        hr_graph_if as *const (),
        hr_graph_loop as *const (),
        hr_graph_scan as *const (),
        hr_graph_call as *const (),
        hr_node_spec_body as *const (),
        hr_env_create as *const (),
        hr_env_release as *const (),
        hr_env_load_plugin as *const (),
        hr_env_describe as *const (),
        hr_graph_create as *const (),
        hr_graph_release as *const (),
        hr_graph_input as *const (),
        hr_graph_bound as *const (),
        hr_graph_constant as *const (),
        hr_graph_variable as *const (),
        hr_graph_variable_init as *const (),
        hr_graph_read as *const (),
        hr_graph_assign as *const (),
        hr_graph_assign_add as *const (),
        hr_graph_set_trainable as *const (),
        hr_graph_op as *const (),
        hr_graph_device as *const (),
        hr_node_spec_create as *const (),
        hr_node_spec_release as *const (),
        hr_node_spec_name as *const (),
        hr_node_spec_device as *const (),
        hr_node_spec_input as *const (),
        hr_node_spec_control as *const (),
        hr_node_spec_int as *const (),
        hr_node_spec_float as *const (),
        hr_node_spec_string as *const (),
        hr_node_spec_ints as *const (),
        hr_node_spec_floats as *const (),
        hr_node_spec_strings as *const (),
        hr_node_spec_tensor as *const (),
        hr_graph_add as *const (),
        hr_graph_replace as *const (),
        hr_graph_name_value as *const (),
        hr_graph_dense as *const (),
        hr_graph_conv2d as *const (),
        hr_graph_batch_norm as *const (),
        hr_graph_add_gradients as *const (),
        hr_graph_variable_gradients as *const (),
        hr_graph_apply_gradients as *const (),
        hr_graph_minimize as *const (),
        hr_graph_signature_input as *const (),
        hr_graph_signature_output as *const (),
        hr_graph_signature_target as *const (),
        hr_graph_remove_signature as *const (),
        hr_graph_prune as *const (),
        hr_graph_set_metadata as *const (),
        hr_graph_save as *const (),
        hr_graph_get as *const (),
        hr_graph_get_value as *const (),
        hr_graph_get_node as *const (),
        hr_graph_get_variable as *const (),
        hr_graph_get_signature as *const (),
        hr_graph_get_attribute as *const (),
        hr_graph_find_value as *const (),
        hr_graph_find_node as *const (),
        hr_graph_find_variable as *const (),
        hr_graph_find_signature as *const (),
        hr_graph_node_int as *const (),
        hr_graph_node_float as *const (),
        hr_graph_node_string as *const (),
        hr_graph_node_ints as *const (),
        hr_graph_node_floats as *const (),
        hr_graph_node_strings as *const (),
        hr_graph_node_tensor as *const (),
        hr_graph_value_tensor as *const (),
        hr_graph_variable_tensor as *const (),
        hr_graph_type_of as *const (),
        hr_model_load as *const (),
        hr_model_load_memory as *const (),
        hr_model_load_callback as *const (),
        hr_model_from_graph as *const (),
        hr_graph_from_model as *const (),
        hr_model_release as *const (),
        hr_model_convert as *const (),
        hr_model_export as *const (),
        hr_tensor_load as *const (),
        hr_model_describe as *const (),
        hr_model_view as *const (),
        hr_model_graph_text as *const (),
        hr_model_file_describe as *const (),
        hr_env_add_operator as *const (),
        hr_op_input_count as *const (),
        hr_op_output_count as *const (),
        hr_op_int as *const (),
        hr_op_float as *const (),
        hr_op_string as *const (),
        hr_op_ints as *const (),
        hr_op_floats as *const (),
        hr_op_input_type as *const (),
        hr_op_set_output as *const (),
        hr_op_set_output_like as *const (),
        hr_op_input_tensor as *const (),
        hr_op_output_tensor as *const (),
        hr_op_parallel_for as *const (),
        hr_op_input as *const (),
        hr_op_output as *const (),
        hr_op_output_gradient as *const (),
        hr_op_wants_gradient as *const (),
        hr_op_add as *const (),
        hr_op_scalar as *const (),
        hr_op_set_gradient as *const (),
        hr_queue_create as *const (),
        hr_queue_release as *const (),
        hr_queue_poll as *const (),
        hr_queue_wait as *const (),
        hr_queue_descriptor as *const (),
        hr_session_create as *const (),
        hr_session_close as *const (),
        hr_session_release as *const (),
        hr_session_trim as *const (),
        hr_session_run as *const (),
        hr_session_variable_count as *const (),
        hr_session_variable_name as *const (),
        hr_session_get_variable as *const (),
        hr_session_set_variable as *const (),
        hr_session_describe as *const (),
        hr_call_create as *const (),
        hr_call_create_custom as *const (),
        hr_call_release as *const (),
        hr_call_bind as *const (),
        hr_call_bind_scalar as *const (),
        hr_call_output as *const (),
        hr_call_bind_output as *const (),
        hr_call_output_type as *const (),
        hr_call_run as *const (),
        hr_call_start as *const (),
        hr_run_release as *const (),
        hr_run_test as *const (),
        hr_run_wait as *const (),
        hr_run_on_done as *const (),
        hr_run_enqueue as *const (),
        hr_run_cancel as *const (),
        hr_call_result as *const (),
        hr_call_take_result as *const (),
        hr_call_describe as *const (),
        hr_call_profile as *const (),
        hr_tensor_create as *const (),
        hr_tensor_copy_of as *const (),
        hr_tensor_wrap as *const (),
        hr_tensor_wrap_strided as *const (),
        hr_tensor_release as *const (),
        hr_tensor_share as *const (),
        hr_tensor_dtype as *const (),
        hr_tensor_rank as *const (),
        hr_tensor_dims as *const (),
        hr_tensor_elements as *const (),
        hr_tensor_bytes as *const (),
        hr_tensor_data as *const (),
        hr_tensor_read_only as *const (),
        hr_tensor_device as *const (),
        hr_tensor_device_data as *const (),
        hr_tensor_strides as *const (),
        hr_tensor_from_dlpack as *const (),
        hr_tensor_to_dlpack as *const (),
        hr_dataset_open as *const (),
        hr_dataset_from_tensors as *const (),
        hr_dataset_from_callbacks as *const (),
        hr_dataset_release as *const (),
        hr_dataset_done as *const (),
        hr_dataset_batches as *const (),
        hr_dataset_rewind as *const (),
        hr_dataset_field_count as *const (),
        hr_dataset_field_name as *const (),
        hr_dataset_next as *const (),
        hr_dataset_rename as *const (),
        hr_dataset_describe as *const (),
        hr_dataset_position as *const (),
        hr_dataset_seek as *const (),
        hr_dataset_reshard as *const (),
        hr_dataset_map as *const (),
        hr_dataset_filter as *const (),
        hr_dataset_cache as *const (),
        hr_call_bind_dataset as *const (),
        hr_session_save as *const (),
        hr_session_restore as *const (),
        hr_session_step as *const (),
        hr_checkpoint_describe as *const (),
        hr_weights_describe as *const (),
        hr_session_export_weights as *const (),
        hr_session_import_weights as *const (),
        hr_session_export as *const (),
        hr_session_save_adapters as *const (),
        hr_session_load_adapters as *const (),
        hr_summary_open as *const (),
        hr_summary_release as *const (),
        hr_summary_scalar as *const (),
        hr_summary_histogram as *const (),
        hr_summary_images as *const (),
        hr_summary_text as *const (),
        hr_summary_graph as *const (),
        hr_summary_flush as *const (),
        hr_train as *const (),
        hr_evaluate as *const (),
        hr_evaluate_metrics as *const (),
        hr_graph_quantize as *const (),
        hr_progress_create as *const (),
        hr_progress_update as *const (),
        hr_progress_message as *const (),
        hr_progress_release as *const (),
        hr_graph_schedule as *const (),
        hr_graph_clip_gradients as *const (),
        hr_graph_set_trainable_matching as *const (),
        hr_graph_minimize_groups as *const (),
        hr_graph_average_signature as *const (),
        hr_graph_swap_averages as *const (),
        hr_graph_copy_signature as *const (),
        hr_graph_metric as *const (),
        hr_graph_distribute as *const (),
        hr_graph_add_lora as *const (),
        hr_graph_load_adapters as *const (),
    ]
}

pub const PROGRAM: &str = r#"#include <headrace/headrace.h>
#include <stddef.h>
#include <stdio.h>

int main(void) {
  printf("hr_limits %zu\n", sizeof(hr_limits));
  printf("hr_limits.struct_size %zu\n", offsetof(hr_limits, struct_size));
  printf("hr_limits.cancel %zu\n", offsetof(hr_limits, cancel));
  printf("hr_limits.timeout_nanos %zu\n", offsetof(hr_limits, timeout_nanos));
  printf("hr_limits.interrupted %zu\n", offsetof(hr_limits, interrupted));
  printf("hr_limits.context %zu\n", offsetof(hr_limits, context));
  printf("hr_store_options %zu\n", sizeof(hr_store_options));
  printf("hr_store_options.struct_size %zu\n", offsetof(hr_store_options, struct_size));
  printf("hr_store_options.serve %zu\n", offsetof(hr_store_options, serve));
  printf("hr_store_options.trusted_fabric %zu\n", offsetof(hr_store_options, trusted_fabric));
  printf("hr_store_options.secret %zu\n", offsetof(hr_store_options, secret));
  printf("hr_store_callbacks %zu\n", sizeof(hr_store_callbacks));
  printf("hr_store_callbacks.struct_size %zu\n", offsetof(hr_store_callbacks, struct_size));
  printf("hr_store_callbacks.context %zu\n", offsetof(hr_store_callbacks, context));
  printf("hr_store_callbacks.get %zu\n", offsetof(hr_store_callbacks, get));
  printf("hr_store_callbacks.compare_and_swap %zu\n", offsetof(hr_store_callbacks, compare_and_swap));
  printf("hr_store_callbacks.remove %zu\n", offsetof(hr_store_callbacks, remove));
  printf("hr_store_callbacks.release %zu\n", offsetof(hr_store_callbacks, release));
  printf("hr_group_options %zu\n", sizeof(hr_group_options));
  printf("hr_group_options.struct_size %zu\n", offsetof(hr_group_options, struct_size));
  printf("hr_group_options.rank %zu\n", offsetof(hr_group_options, rank));
  printf("hr_group_options.size %zu\n", offsetof(hr_group_options, size));
  printf("hr_group_options.epoch %zu\n", offsetof(hr_group_options, epoch));
  printf("hr_group_options.name %zu\n", offsetof(hr_group_options, name));
  printf("hr_group_options.store %zu\n", offsetof(hr_group_options, store));
  printf("hr_group_options.store_url %zu\n", offsetof(hr_group_options, store_url));
  printf("hr_group_options.transport %zu\n", offsetof(hr_group_options, transport));
  printf("hr_group_options.address %zu\n", offsetof(hr_group_options, address));
  printf("hr_group_options.trusted_fabric %zu\n", offsetof(hr_group_options, trusted_fabric));
  printf("hr_group_options.timeout_nanos %zu\n", offsetof(hr_group_options, timeout_nanos));
  printf("hr_group_options.silence_nanos %zu\n", offsetof(hr_group_options, silence_nanos));
  printf("hr_group_options.algorithms %zu\n", offsetof(hr_group_options, algorithms));
  printf("hr_group_options.dump_folder %zu\n", offsetof(hr_group_options, dump_folder));
  printf("hr_group_options.secret %zu\n", offsetof(hr_group_options, secret));
  printf("hr_group_options.calibration %zu\n", offsetof(hr_group_options, calibration));
  printf("hr_operation %zu\n", sizeof(hr_operation));
  printf("hr_operation.struct_size %zu\n", offsetof(hr_operation, struct_size));
  printf("hr_operation.kind %zu\n", offsetof(hr_operation, kind));
  printf("hr_operation.dtype %zu\n", offsetof(hr_operation, dtype));
  printf("hr_operation.count %zu\n", offsetof(hr_operation, count));
  printf("hr_operation.input %zu\n", offsetof(hr_operation, input));
  printf("hr_operation.output %zu\n", offsetof(hr_operation, output));
  printf("hr_operation.op %zu\n", offsetof(hr_operation, op));
  printf("hr_operation.peer %zu\n", offsetof(hr_operation, peer));
  printf("hr_operation.tag %zu\n", offsetof(hr_operation, tag));
  printf("hr_operation.factor %zu\n", offsetof(hr_operation, factor));
  printf("hr_allocator %zu\n", sizeof(hr_allocator));
  printf("hr_allocator.struct_size %zu\n", offsetof(hr_allocator, struct_size));
  printf("hr_allocator.context %zu\n", offsetof(hr_allocator, context));
  printf("hr_allocator.allocate %zu\n", offsetof(hr_allocator, allocate));
  printf("hr_allocator.deallocate %zu\n", offsetof(hr_allocator, deallocate));
  printf("hr_allocator.release %zu\n", offsetof(hr_allocator, release));
  printf("hr_log_sink %zu\n", sizeof(hr_log_sink));
  printf("hr_log_sink.struct_size %zu\n", offsetof(hr_log_sink, struct_size));
  printf("hr_log_sink.context %zu\n", offsetof(hr_log_sink, context));
  printf("hr_log_sink.write %zu\n", offsetof(hr_log_sink, write));
  printf("hr_log_sink.release %zu\n", offsetof(hr_log_sink, release));
  printf("hr_clock %zu\n", sizeof(hr_clock));
  printf("hr_clock.struct_size %zu\n", offsetof(hr_clock, struct_size));
  printf("hr_clock.context %zu\n", offsetof(hr_clock, context));
  printf("hr_clock.now_nanos %zu\n", offsetof(hr_clock, now_nanos));
  printf("hr_clock.release %zu\n", offsetof(hr_clock, release));
  printf("hr_executor %zu\n", sizeof(hr_executor));
  printf("hr_executor.struct_size %zu\n", offsetof(hr_executor, struct_size));
  printf("hr_executor.context %zu\n", offsetof(hr_executor, context));
  printf("hr_executor.concurrency %zu\n", offsetof(hr_executor, concurrency));
  printf("hr_executor.parallel_for %zu\n", offsetof(hr_executor, parallel_for));
  printf("hr_executor.release %zu\n", offsetof(hr_executor, release));
  printf("hr_env_options %zu\n", sizeof(hr_env_options));
  printf("hr_env_options.struct_size %zu\n", offsetof(hr_env_options, struct_size));
  printf("hr_env_options.allocator %zu\n", offsetof(hr_env_options, allocator));
  printf("hr_env_options.log %zu\n", offsetof(hr_env_options, log));
  printf("hr_env_options.clock %zu\n", offsetof(hr_env_options, clock));
  printf("hr_env_options.executor %zu\n", offsetof(hr_env_options, executor));
  printf("hr_env_options.threads %zu\n", offsetof(hr_env_options, threads));
  printf("hr_env_options.cost_table %zu\n", offsetof(hr_env_options, cost_table));
  printf("hr_save_options %zu\n", sizeof(hr_save_options));
  printf("hr_save_options.struct_size %zu\n", offsetof(hr_save_options, struct_size));
  printf("hr_save_options.strip_names %zu\n", offsetof(hr_save_options, strip_names));
  printf("hr_save_options.side_file %zu\n", offsetof(hr_save_options, side_file));
  printf("hr_save_options.merge_adapters %zu\n", offsetof(hr_save_options, merge_adapters));
  printf("hr_graph_info %zu\n", sizeof(hr_graph_info));
  printf("hr_graph_info.struct_size %zu\n", offsetof(hr_graph_info, struct_size));
  printf("hr_graph_info.value_count %zu\n", offsetof(hr_graph_info, value_count));
  printf("hr_graph_info.node_count %zu\n", offsetof(hr_graph_info, node_count));
  printf("hr_graph_info.variable_count %zu\n", offsetof(hr_graph_info, variable_count));
  printf("hr_graph_info.signature_count %zu\n", offsetof(hr_graph_info, signature_count));
  printf("hr_graph_info.input_count %zu\n", offsetof(hr_graph_info, input_count));
  printf("hr_graph_info.inputs %zu\n", offsetof(hr_graph_info, inputs));
  printf("hr_value_info %zu\n", sizeof(hr_value_info));
  printf("hr_value_info.struct_size %zu\n", offsetof(hr_value_info, struct_size));
  printf("hr_value_info.name %zu\n", offsetof(hr_value_info, name));
  printf("hr_value_info.dtype %zu\n", offsetof(hr_value_info, dtype));
  printf("hr_value_info.rank %zu\n", offsetof(hr_value_info, rank));
  printf("hr_value_info.dims %zu\n", offsetof(hr_value_info, dims));
  printf("hr_value_info.symbols %zu\n", offsetof(hr_value_info, symbols));
  printf("hr_value_info.producer %zu\n", offsetof(hr_value_info, producer));
  printf("hr_value_info.is_constant %zu\n", offsetof(hr_value_info, is_constant));
  printf("hr_node_info %zu\n", sizeof(hr_node_info));
  printf("hr_node_info.struct_size %zu\n", offsetof(hr_node_info, struct_size));
  printf("hr_node_info.name %zu\n", offsetof(hr_node_info, name));
  printf("hr_node_info.op %zu\n", offsetof(hr_node_info, op));
  printf("hr_node_info.version %zu\n", offsetof(hr_node_info, version));
  printf("hr_node_info.device %zu\n", offsetof(hr_node_info, device));
  printf("hr_node_info.input_count %zu\n", offsetof(hr_node_info, input_count));
  printf("hr_node_info.inputs %zu\n", offsetof(hr_node_info, inputs));
  printf("hr_node_info.output_count %zu\n", offsetof(hr_node_info, output_count));
  printf("hr_node_info.outputs %zu\n", offsetof(hr_node_info, outputs));
  printf("hr_node_info.control_count %zu\n", offsetof(hr_node_info, control_count));
  printf("hr_node_info.controls %zu\n", offsetof(hr_node_info, controls));
  printf("hr_node_info.attribute_count %zu\n", offsetof(hr_node_info, attribute_count));
  printf("hr_variable_info %zu\n", sizeof(hr_variable_info));
  printf("hr_variable_info.struct_size %zu\n", offsetof(hr_variable_info, struct_size));
  printf("hr_variable_info.name %zu\n", offsetof(hr_variable_info, name));
  printf("hr_variable_info.dtype %zu\n", offsetof(hr_variable_info, dtype));
  printf("hr_variable_info.rank %zu\n", offsetof(hr_variable_info, rank));
  printf("hr_variable_info.dims %zu\n", offsetof(hr_variable_info, dims));
  printf("hr_variable_info.trainable %zu\n", offsetof(hr_variable_info, trainable));
  printf("hr_signature_info %zu\n", sizeof(hr_signature_info));
  printf("hr_signature_info.struct_size %zu\n", offsetof(hr_signature_info, struct_size));
  printf("hr_signature_info.name %zu\n", offsetof(hr_signature_info, name));
  printf("hr_signature_info.input_count %zu\n", offsetof(hr_signature_info, input_count));
  printf("hr_signature_info.input_names %zu\n", offsetof(hr_signature_info, input_names));
  printf("hr_signature_info.inputs %zu\n", offsetof(hr_signature_info, inputs));
  printf("hr_signature_info.output_count %zu\n", offsetof(hr_signature_info, output_count));
  printf("hr_signature_info.output_names %zu\n", offsetof(hr_signature_info, output_names));
  printf("hr_signature_info.outputs %zu\n", offsetof(hr_signature_info, outputs));
  printf("hr_signature_info.target_count %zu\n", offsetof(hr_signature_info, target_count));
  printf("hr_signature_info.targets %zu\n", offsetof(hr_signature_info, targets));
  printf("hr_attribute_info %zu\n", sizeof(hr_attribute_info));
  printf("hr_attribute_info.struct_size %zu\n", offsetof(hr_attribute_info, struct_size));
  printf("hr_attribute_info.name %zu\n", offsetof(hr_attribute_info, name));
  printf("hr_attribute_info.kind %zu\n", offsetof(hr_attribute_info, kind));
  printf("hr_load_options %zu\n", sizeof(hr_load_options));
  printf("hr_load_options.struct_size %zu\n", offsetof(hr_load_options, struct_size));
  printf("hr_load_options.read_whole_file %zu\n", offsetof(hr_load_options, read_whole_file));
  printf("hr_load_options.verify_checksums %zu\n", offsetof(hr_load_options, verify_checksums));
  printf("hr_load_options.inspect_only %zu\n", offsetof(hr_load_options, inspect_only));
  printf("hr_reader %zu\n", sizeof(hr_reader));
  printf("hr_reader.struct_size %zu\n", offsetof(hr_reader, struct_size));
  printf("hr_reader.context %zu\n", offsetof(hr_reader, context));
  printf("hr_reader.total_bytes %zu\n", offsetof(hr_reader, total_bytes));
  printf("hr_reader.read %zu\n", offsetof(hr_reader, read));
  printf("hr_reader.release %zu\n", offsetof(hr_reader, release));
  printf("hr_convert_options %zu\n", sizeof(hr_convert_options));
  printf("hr_convert_options.struct_size %zu\n", offsetof(hr_convert_options, struct_size));
  printf("hr_convert_options.constants %zu\n", offsetof(hr_convert_options, constants));
  printf("hr_convert_options.simplify %zu\n", offsetof(hr_convert_options, simplify));
  printf("hr_export_options %zu\n", sizeof(hr_export_options));
  printf("hr_export_options.struct_size %zu\n", offsetof(hr_export_options, struct_size));
  printf("hr_export_options.external_data %zu\n", offsetof(hr_export_options, external_data));
  printf("hr_export_options.signature %zu\n", offsetof(hr_export_options, signature));
  printf("hr_graph_view %zu\n", sizeof(hr_graph_view));
  printf("hr_graph_view.struct_size %zu\n", offsetof(hr_graph_view, struct_size));
  printf("hr_graph_view.signature %zu\n", offsetof(hr_graph_view, signature));
  printf("hr_graph_view.graph %zu\n", offsetof(hr_graph_view, graph));
  printf("hr_op_tensor %zu\n", sizeof(hr_op_tensor));
  printf("hr_op_tensor.dtype %zu\n", offsetof(hr_op_tensor, dtype));
  printf("hr_op_tensor.rank %zu\n", offsetof(hr_op_tensor, rank));
  printf("hr_op_tensor.dims %zu\n", offsetof(hr_op_tensor, dims));
  printf("hr_op_tensor.data %zu\n", offsetof(hr_op_tensor, data));
  printf("hr_operator_attribute %zu\n", sizeof(hr_operator_attribute));
  printf("hr_operator_attribute.struct_size %zu\n", offsetof(hr_operator_attribute, struct_size));
  printf("hr_operator_attribute.name %zu\n", offsetof(hr_operator_attribute, name));
  printf("hr_operator_attribute.kind %zu\n", offsetof(hr_operator_attribute, kind));
  printf("hr_operator_attribute.required %zu\n", offsetof(hr_operator_attribute, required));
  printf("hr_operator %zu\n", sizeof(hr_operator));
  printf("hr_operator.struct_size %zu\n", offsetof(hr_operator, struct_size));
  printf("hr_operator.name %zu\n", offsetof(hr_operator, name));
  printf("hr_operator.version %zu\n", offsetof(hr_operator, version));
  printf("hr_operator.min_inputs %zu\n", offsetof(hr_operator, min_inputs));
  printf("hr_operator.max_inputs %zu\n", offsetof(hr_operator, max_inputs));
  printf("hr_operator.min_outputs %zu\n", offsetof(hr_operator, min_outputs));
  printf("hr_operator.max_outputs %zu\n", offsetof(hr_operator, max_outputs));
  printf("hr_operator.attribute_count %zu\n", offsetof(hr_operator, attribute_count));
  printf("hr_operator.attributes %zu\n", offsetof(hr_operator, attributes));
  printf("hr_operator.context %zu\n", offsetof(hr_operator, context));
  printf("hr_operator.release %zu\n", offsetof(hr_operator, release));
  printf("hr_operator.infer %zu\n", offsetof(hr_operator, infer));
  printf("hr_operator.compute %zu\n", offsetof(hr_operator, compute));
  printf("hr_operator.gradient %zu\n", offsetof(hr_operator, gradient));
  printf("hr_completion %zu\n", sizeof(hr_completion));
  printf("hr_completion.struct_size %zu\n", offsetof(hr_completion, struct_size));
  printf("hr_completion.key %zu\n", offsetof(hr_completion, key));
  printf("hr_completion.failure %zu\n", offsetof(hr_completion, failure));
  printf("hr_session_options %zu\n", sizeof(hr_session_options));
  printf("hr_session_options.struct_size %zu\n", offsetof(hr_session_options, struct_size));
  printf("hr_session_options.seed %zu\n", offsetof(hr_session_options, seed));
  printf("hr_session_options.max_plans %zu\n", offsetof(hr_session_options, max_plans));
  printf("hr_session_options.disable_fusion %zu\n", offsetof(hr_session_options, disable_fusion));
  printf("hr_session_options.device %zu\n", offsetof(hr_session_options, device));
  printf("hr_session_options.max_sizes %zu\n", offsetof(hr_session_options, max_sizes));
  printf("hr_session_options.check_memory %zu\n", offsetof(hr_session_options, check_memory));
  printf("hr_session_options.exact_sums %zu\n", offsetof(hr_session_options, exact_sums));
  printf("hr_session_options.memory_limit %zu\n", offsetof(hr_session_options, memory_limit));
  printf("hr_session_options.pin %zu\n", offsetof(hr_session_options, pin));
  printf("hr_dlpack_device %zu\n", sizeof(hr_dlpack_device));
  printf("hr_dlpack_device.device_type %zu\n", offsetof(hr_dlpack_device, device_type));
  printf("hr_dlpack_device.device_id %zu\n", offsetof(hr_dlpack_device, device_id));
  printf("hr_dlpack_dtype %zu\n", sizeof(hr_dlpack_dtype));
  printf("hr_dlpack_dtype.code %zu\n", offsetof(hr_dlpack_dtype, code));
  printf("hr_dlpack_dtype.bits %zu\n", offsetof(hr_dlpack_dtype, bits));
  printf("hr_dlpack_dtype.lanes %zu\n", offsetof(hr_dlpack_dtype, lanes));
  printf("hr_dlpack_version %zu\n", sizeof(hr_dlpack_version));
  printf("hr_dlpack_version.major %zu\n", offsetof(hr_dlpack_version, major));
  printf("hr_dlpack_version.minor %zu\n", offsetof(hr_dlpack_version, minor));
  printf("hr_dlpack_tensor %zu\n", sizeof(hr_dlpack_tensor));
  printf("hr_dlpack_tensor.data %zu\n", offsetof(hr_dlpack_tensor, data));
  printf("hr_dlpack_tensor.device %zu\n", offsetof(hr_dlpack_tensor, device));
  printf("hr_dlpack_tensor.ndim %zu\n", offsetof(hr_dlpack_tensor, ndim));
  printf("hr_dlpack_tensor.dtype %zu\n", offsetof(hr_dlpack_tensor, dtype));
  printf("hr_dlpack_tensor.shape %zu\n", offsetof(hr_dlpack_tensor, shape));
  printf("hr_dlpack_tensor.strides %zu\n", offsetof(hr_dlpack_tensor, strides));
  printf("hr_dlpack_tensor.byte_offset %zu\n", offsetof(hr_dlpack_tensor, byte_offset));
  printf("hr_dlpack %zu\n", sizeof(hr_dlpack));
  printf("hr_dlpack.version %zu\n", offsetof(hr_dlpack, version));
  printf("hr_dlpack.manager_ctx %zu\n", offsetof(hr_dlpack, manager_ctx));
  printf("hr_dlpack.deleter %zu\n", offsetof(hr_dlpack, deleter));
  printf("hr_dlpack.flags %zu\n", offsetof(hr_dlpack, flags));
  printf("hr_dlpack.dl_tensor %zu\n", offsetof(hr_dlpack, dl_tensor));
  printf("hr_dataset_options %zu\n", sizeof(hr_dataset_options));
  printf("hr_dataset_options.struct_size %zu\n", offsetof(hr_dataset_options, struct_size));
  printf("hr_dataset_options.batch %zu\n", offsetof(hr_dataset_options, batch));
  printf("hr_dataset_options.repeat %zu\n", offsetof(hr_dataset_options, repeat));
  printf("hr_dataset_options.shuffle %zu\n", offsetof(hr_dataset_options, shuffle));
  printf("hr_dataset_options.drop_remainder %zu\n", offsetof(hr_dataset_options, drop_remainder));
  printf("hr_dataset_options.seed %zu\n", offsetof(hr_dataset_options, seed));
  printf("hr_dataset_options.prefetch %zu\n", offsetof(hr_dataset_options, prefetch));
  printf("hr_dataset_options.shard_index %zu\n", offsetof(hr_dataset_options, shard_index));
  printf("hr_dataset_options.shard_count %zu\n", offsetof(hr_dataset_options, shard_count));
  printf("hr_dataset_callbacks %zu\n", sizeof(hr_dataset_callbacks));
  printf("hr_dataset_callbacks.struct_size %zu\n", offsetof(hr_dataset_callbacks, struct_size));
  printf("hr_dataset_callbacks.context %zu\n", offsetof(hr_dataset_callbacks, context));
  printf("hr_dataset_callbacks.next %zu\n", offsetof(hr_dataset_callbacks, next));
  printf("hr_dataset_callbacks.seek %zu\n", offsetof(hr_dataset_callbacks, seek));
  printf("hr_dataset_callbacks.release %zu\n", offsetof(hr_dataset_callbacks, release));
  printf("hr_dataset_callbacks.examples %zu\n", offsetof(hr_dataset_callbacks, examples));
  printf("hr_dataset_field %zu\n", sizeof(hr_dataset_field));
  printf("hr_dataset_field.struct_size %zu\n", offsetof(hr_dataset_field, struct_size));
  printf("hr_dataset_field.name %zu\n", offsetof(hr_dataset_field, name));
  printf("hr_dataset_field.dtype %zu\n", offsetof(hr_dataset_field, dtype));
  printf("hr_dataset_field.rank %zu\n", offsetof(hr_dataset_field, rank));
  printf("hr_dataset_field.dims %zu\n", offsetof(hr_dataset_field, dims));
  printf("hr_cache_options %zu\n", sizeof(hr_cache_options));
  printf("hr_cache_options.struct_size %zu\n", offsetof(hr_cache_options, struct_size));
  printf("hr_cache_options.path %zu\n", offsetof(hr_cache_options, path));
  printf("hr_cache_options.key %zu\n", offsetof(hr_cache_options, key));
  printf("hr_cache_options.options %zu\n", offsetof(hr_cache_options, options));
  printf("hr_checkpoint_options %zu\n", sizeof(hr_checkpoint_options));
  printf("hr_checkpoint_options.struct_size %zu\n", offsetof(hr_checkpoint_options, struct_size));
  printf("hr_checkpoint_options.keep %zu\n", offsetof(hr_checkpoint_options, keep));
  printf("hr_checkpoint_options.dataset %zu\n", offsetof(hr_checkpoint_options, dataset));
  printf("hr_checkpoint_options.group %zu\n", offsetof(hr_checkpoint_options, group));
  printf("hr_weights_options %zu\n", sizeof(hr_weights_options));
  printf("hr_weights_options.struct_size %zu\n", offsetof(hr_weights_options, struct_size));
  printf("hr_weights_options.partial %zu\n", offsetof(hr_weights_options, partial));
  printf("hr_weights_options.trainable %zu\n", offsetof(hr_weights_options, trainable));
  printf("hr_weights_options.names %zu\n", offsetof(hr_weights_options, names));
  printf("hr_train_report %zu\n", sizeof(hr_train_report));
  printf("hr_train_report.struct_size %zu\n", offsetof(hr_train_report, struct_size));
  printf("hr_train_report.step %zu\n", offsetof(hr_train_report, step));
  printf("hr_train_report.epoch %zu\n", offsetof(hr_train_report, epoch));
  printf("hr_train_report.loss %zu\n", offsetof(hr_train_report, loss));
  printf("hr_train_report.examples_per_second %zu\n", offsetof(hr_train_report, examples_per_second));
  printf("hr_train_report.evaluated %zu\n", offsetof(hr_train_report, evaluated));
  printf("hr_train_report.evaluation_loss %zu\n", offsetof(hr_train_report, evaluation_loss));
  printf("hr_train_report.evaluation_accuracy %zu\n", offsetof(hr_train_report, evaluation_accuracy));
  printf("hr_train_report.examples %zu\n", offsetof(hr_train_report, examples));
  printf("hr_train_report.learning_rate %zu\n", offsetof(hr_train_report, learning_rate));
  printf("hr_train_report.best %zu\n", offsetof(hr_train_report, best));
  printf("hr_train_report.best_step %zu\n", offsetof(hr_train_report, best_step));
  printf("hr_train_report.stopped_early %zu\n", offsetof(hr_train_report, stopped_early));
  printf("hr_train_options %zu\n", sizeof(hr_train_options));
  printf("hr_train_options.struct_size %zu\n", offsetof(hr_train_options, struct_size));
  printf("hr_train_options.train_signature %zu\n", offsetof(hr_train_options, train_signature));
  printf("hr_train_options.eval_signature %zu\n", offsetof(hr_train_options, eval_signature));
  printf("hr_train_options.train_data %zu\n", offsetof(hr_train_options, train_data));
  printf("hr_train_options.eval_data %zu\n", offsetof(hr_train_options, eval_data));
  printf("hr_train_options.max_steps %zu\n", offsetof(hr_train_options, max_steps));
  printf("hr_train_options.scalar_count %zu\n", offsetof(hr_train_options, scalar_count));
  printf("hr_train_options.scalar_names %zu\n", offsetof(hr_train_options, scalar_names));
  printf("hr_train_options.scalars %zu\n", offsetof(hr_train_options, scalars));
  printf("hr_train_options.checkpoint_directory %zu\n", offsetof(hr_train_options, checkpoint_directory));
  printf("hr_train_options.checkpoint_steps %zu\n", offsetof(hr_train_options, checkpoint_steps));
  printf("hr_train_options.keep_checkpoints %zu\n", offsetof(hr_train_options, keep_checkpoints));
  printf("hr_train_options.event_directory %zu\n", offsetof(hr_train_options, event_directory));
  printf("hr_train_options.summary_steps %zu\n", offsetof(hr_train_options, summary_steps));
  printf("hr_train_options.eval_steps %zu\n", offsetof(hr_train_options, eval_steps));
  printf("hr_train_options.on_step %zu\n", offsetof(hr_train_options, on_step));
  printf("hr_train_options.on_message %zu\n", offsetof(hr_train_options, on_message));
  printf("hr_train_options.context %zu\n", offsetof(hr_train_options, context));
  printf("hr_train_options.group %zu\n", offsetof(hr_train_options, group));
  printf("hr_train_options.best_metric %zu\n", offsetof(hr_train_options, best_metric));
  printf("hr_train_options.best_is_smallest %zu\n", offsetof(hr_train_options, best_is_smallest));
  printf("hr_train_options.restore_best %zu\n", offsetof(hr_train_options, restore_best));
  printf("hr_train_options.patience %zu\n", offsetof(hr_train_options, patience));
  printf("hr_train_options.on_evaluate %zu\n", offsetof(hr_train_options, on_evaluate));
  printf("hr_train_options.bound_group %zu\n", offsetof(hr_train_options, bound_group));
  printf("hr_train_options.elastic_group %zu\n", offsetof(hr_train_options, elastic_group));
  printf("hr_train_options.min_ranks %zu\n", offsetof(hr_train_options, min_ranks));
  printf("hr_train_options.max_ranks %zu\n", offsetof(hr_train_options, max_ranks));
  printf("hr_parameter_group %zu\n", sizeof(hr_parameter_group));
  printf("hr_parameter_group.struct_size %zu\n", offsetof(hr_parameter_group, struct_size));
  printf("hr_parameter_group.patterns %zu\n", offsetof(hr_parameter_group, patterns));
  printf("hr_parameter_group.optimizer %zu\n", offsetof(hr_parameter_group, optimizer));
  printf("hr_parameter_group.learning_rate %zu\n", offsetof(hr_parameter_group, learning_rate));
  printf("HR_OK %lld\n", (long long)HR_OK);
  printf("HR_CANCELLED %lld\n", (long long)HR_CANCELLED);
  printf("HR_UNKNOWN %lld\n", (long long)HR_UNKNOWN);
  printf("HR_INVALID_ARGUMENT %lld\n", (long long)HR_INVALID_ARGUMENT);
  printf("HR_DEADLINE_EXCEEDED %lld\n", (long long)HR_DEADLINE_EXCEEDED);
  printf("HR_NOT_FOUND %lld\n", (long long)HR_NOT_FOUND);
  printf("HR_ALREADY_EXISTS %lld\n", (long long)HR_ALREADY_EXISTS);
  printf("HR_PERMISSION_DENIED %lld\n", (long long)HR_PERMISSION_DENIED);
  printf("HR_RESOURCE_EXHAUSTED %lld\n", (long long)HR_RESOURCE_EXHAUSTED);
  printf("HR_FAILED_PRECONDITION %lld\n", (long long)HR_FAILED_PRECONDITION);
  printf("HR_ABORTED %lld\n", (long long)HR_ABORTED);
  printf("HR_OUT_OF_RANGE %lld\n", (long long)HR_OUT_OF_RANGE);
  printf("HR_UNIMPLEMENTED %lld\n", (long long)HR_UNIMPLEMENTED);
  printf("HR_INTERNAL %lld\n", (long long)HR_INTERNAL);
  printf("HR_UNAVAILABLE %lld\n", (long long)HR_UNAVAILABLE);
  printf("HR_DATA_LOSS %lld\n", (long long)HR_DATA_LOSS);
  printf("HR_UNAUTHENTICATED %lld\n", (long long)HR_UNAUTHENTICATED);
  printf("HR_TAINTED %lld\n", (long long)HR_TAINTED);
  printf("HR_ARBITER_LOST %lld\n", (long long)HR_ARBITER_LOST);
  printf("HR_DEVICE_LOST %lld\n", (long long)HR_DEVICE_LOST);
  printf("HR_UNDEFINED %lld\n", (long long)HR_UNDEFINED);
  printf("HR_FLOAT32 %lld\n", (long long)HR_FLOAT32);
  printf("HR_UINT8 %lld\n", (long long)HR_UINT8);
  printf("HR_INT8 %lld\n", (long long)HR_INT8);
  printf("HR_UINT16 %lld\n", (long long)HR_UINT16);
  printf("HR_INT16 %lld\n", (long long)HR_INT16);
  printf("HR_INT32 %lld\n", (long long)HR_INT32);
  printf("HR_INT64 %lld\n", (long long)HR_INT64);
  printf("HR_BOOL %lld\n", (long long)HR_BOOL);
  printf("HR_FLOAT16 %lld\n", (long long)HR_FLOAT16);
  printf("HR_FLOAT64 %lld\n", (long long)HR_FLOAT64);
  printf("HR_UINT32 %lld\n", (long long)HR_UINT32);
  printf("HR_UINT64 %lld\n", (long long)HR_UINT64);
  printf("HR_BFLOAT16 %lld\n", (long long)HR_BFLOAT16);
  printf("HR_FLOAT8E4M3FN %lld\n", (long long)HR_FLOAT8E4M3FN);
  printf("HR_FLOAT8E4M3FNUZ %lld\n", (long long)HR_FLOAT8E4M3FNUZ);
  printf("HR_FLOAT8E5M2 %lld\n", (long long)HR_FLOAT8E5M2);
  printf("HR_FLOAT8E5M2FNUZ %lld\n", (long long)HR_FLOAT8E5M2FNUZ);
  printf("HR_ATTRIBUTE_INT %lld\n", (long long)HR_ATTRIBUTE_INT);
  printf("HR_ATTRIBUTE_FLOAT %lld\n", (long long)HR_ATTRIBUTE_FLOAT);
  printf("HR_ATTRIBUTE_STRING %lld\n", (long long)HR_ATTRIBUTE_STRING);
  printf("HR_ATTRIBUTE_INTS %lld\n", (long long)HR_ATTRIBUTE_INTS);
  printf("HR_ATTRIBUTE_FLOATS %lld\n", (long long)HR_ATTRIBUTE_FLOATS);
  printf("HR_ATTRIBUTE_STRINGS %lld\n", (long long)HR_ATTRIBUTE_STRINGS);
  printf("HR_ATTRIBUTE_TENSOR %lld\n", (long long)HR_ATTRIBUTE_TENSOR);
  printf("HR_ATTRIBUTE_GRAPH %lld\n", (long long)HR_ATTRIBUTE_GRAPH);
  printf("HR_SUM %lld\n", (long long)HR_SUM);
  printf("HR_PRODUCT %lld\n", (long long)HR_PRODUCT);
  printf("HR_MIN %lld\n", (long long)HR_MIN);
  printf("HR_MAX %lld\n", (long long)HR_MAX);
  printf("HR_AVERAGE %lld\n", (long long)HR_AVERAGE);
  printf("HR_PRE_MULTIPLIED_SUM %lld\n", (long long)HR_PRE_MULTIPLIED_SUM);
  printf("HR_OPERATION_SEND %lld\n", (long long)HR_OPERATION_SEND);
  printf("HR_OPERATION_RECV %lld\n", (long long)HR_OPERATION_RECV);
  printf("HR_OPERATION_BARRIER %lld\n", (long long)HR_OPERATION_BARRIER);
  printf("HR_OPERATION_BROADCAST %lld\n", (long long)HR_OPERATION_BROADCAST);
  printf("HR_OPERATION_REDUCE %lld\n", (long long)HR_OPERATION_REDUCE);
  printf("HR_OPERATION_ALL_REDUCE %lld\n", (long long)HR_OPERATION_ALL_REDUCE);
  printf("HR_OPERATION_GATHER %lld\n", (long long)HR_OPERATION_GATHER);
  printf("HR_OPERATION_ALL_GATHER %lld\n", (long long)HR_OPERATION_ALL_GATHER);
  printf("HR_OPERATION_SCATTER %lld\n", (long long)HR_OPERATION_SCATTER);
  printf("HR_OPERATION_REDUCE_SCATTER %lld\n", (long long)HR_OPERATION_REDUCE_SCATTER);
  printf("HR_OPERATION_ALL_TO_ALL %lld\n", (long long)HR_OPERATION_ALL_TO_ALL);
  printf("HR_FURTHEST %lld\n", (long long)HR_FURTHEST);
  printf("HR_LOG_DEBUG %lld\n", (long long)HR_LOG_DEBUG);
  printf("HR_LOG_INFO %lld\n", (long long)HR_LOG_INFO);
  printf("HR_LOG_WARNING %lld\n", (long long)HR_LOG_WARNING);
  printf("HR_LOG_ERROR %lld\n", (long long)HR_LOG_ERROR);
  printf("HR_API_VERSION %lld\n", (long long)HR_API_VERSION);
  printf("HR_NONE %lld\n", (long long)HR_NONE);
  printf("HR_DLPACK_READ_ONLY %lld\n", (long long)HR_DLPACK_READ_ONLY);
  return 0;
}
"#;
