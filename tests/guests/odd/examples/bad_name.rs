//! A name that no policy can have.

odd::describe_as!("Bad-Name; rm", odd::GOOD_SCHEMA, odd::GOOD_SCHEMA);
