/** Headrace: an embeddable dataflow runtime that trains, serves and communicates. */
module dev.headrace {
  exports dev.headrace;
}
