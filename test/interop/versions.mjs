/**
 * The versions of Redisson that we are played against. The newest comes first: the traces of the
 * others tell only where they differ from its own.
 */
export const REDISSON_VERSIONS = /** @type {const} */ (['4.7.0', '3.16.8']);
