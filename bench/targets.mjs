/**
 * The targets of this library. `raw` and `peer` are ratios of the trial's headline: to the protocol by hand, and to the
 * best peer. `atMost` is a bound for a measure.
 * @type {({ trial: string, raw?: number, peer?: number } | { trial: string, measure: string, atMost: number })[]}
 */
export const TARGETS = [
  { trial: 'A same core', raw: 1.0, peer: 0.8 },
  { trial: 'B', raw: 2.0, peer: 1.6 },
  { trial: 'C 100', raw: 2.1, peer: 7 },
  { trial: 'C 1000', raw: 2.2, peer: 14 },
  { trial: 'C loop', measure: 'neverPct', atMost: 0 },
  { trial: 'C loop', measure: 'waitRatio', atMost: 3.5 },
  { trial: 'D empty', raw: 3.4, peer: 8 },
  { trial: 'D 1 ms', raw: 1.6, peer: 2 },
  { trial: 'D loop', measure: 'neverPct', atMost: 0 },
  { trial: 'D loop', measure: 'waitRatio', atMost: 1.4 },
  { trial: 'D loop', measure: 'processRatio', atMost: 1.2 },
  { trial: 'E split', raw: 0.8, peer: 0.52 },
  { trial: 'F', raw: 0.33, peer: 0.4 },
  { trial: 'F', measure: 'callsPerS', atMost: 100 },
  { trial: 'F', measure: 'lost', atMost: 0 },
  { trial: 'G 1 process', raw: 1.6, peer: 5 },
  { trial: 'G 4 processes', raw: 2.5, peer: 3.7 },
  { trial: 'first 1000', raw: 1 },
  { trial: 'collection', raw: 0.85 },
  { trial: 'footprint', measure: 'timersPerOp', atMost: 0 },
  { trial: 'fair', raw: 2 },
  { trial: 'readers', raw: 1 },
  { trial: 'semaphore', peer: 3 },
  { trial: 'semaphore 1 ms', peer: 3 },
  { trial: 'latch', raw: 1.5 },
  { trial: 'events', measure: 'addedUs', atMost: 1 },
  { trial: 'decorator call', measure: 'addedUs', atMost: 10 },
  { trial: 'decorator boot', measure: 'addedMs', atMost: 50 },
];
