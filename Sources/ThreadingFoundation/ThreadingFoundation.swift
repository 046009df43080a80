/// What needs Foundation: threads of its `Thread` class with the toolkit's attributes and manners.
///
/// It brings the whole of `Threading` along.
@_exported import Threading
