//! A summary that would like to be markup wherever it is shown.

odd::describe_as!(
    "loud_summary",
    "<script src=//evil.example></script> | `x` ![y](//evil.example) </td></table>",
    odd::GOOD_SCHEMA,
    odd::GOOD_SCHEMA
);
