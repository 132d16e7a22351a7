import * as six from 'ioredis';
import * as five from 'ioredis-5';

/** An application may have one of these installed. The types are those of 6: both are used alike. */
export const IOREDIS_VERSIONS: [string, Pick<typeof six, 'Redis' | 'Cluster'>][] = [
  ['ioredis 5', five as unknown as typeof six],
  ['ioredis 6', six],
];
