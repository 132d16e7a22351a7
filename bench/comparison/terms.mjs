/** A lease that its holder renews, or outlives. */
export const LEASE_MS = 3_000;
/** A lease or a wait that no try outlives. */
export const LONG_MS = 120_000;
