import * as six from 'ioredis';
import * as five from 'ioredis-5';
import * as fork from 'iovalkey';

/** An application may have one of these installed. The types are those of 6: all are used alike. */
export type IoredisVersion = Pick<typeof six, 'Redis' | 'Cluster'>;

export const IOREDIS_VERSIONS: [string, IoredisVersion][] = [
  ['ioredis 5', five as unknown as typeof six],
  ['ioredis 6', six],
  ['iovalkey', fork as unknown as typeof six],
];
