//! A summary that does not come to an end soon.

odd::describe_as!("describe_talks", "x".repeat(300 << 10), odd::GOOD_SCHEMA, odd::GOOD_SCHEMA);
