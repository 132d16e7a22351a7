import type { Redis } from 'ioredis';

const WRITE = `
local newest = tonumber(redis.call('get', KEYS[1]) or '0')
if tonumber(ARGV[1]) < newest then return 0 end
redis.call('set', KEYS[1], ARGV[1])
redis.call('rpush', KEYS[2], ARGV[2])
return 1`;

/** Something worth protecting, in a Redis of its own: it refuses tokens older than the newest. */
export class FencedResource {
  constructor(
    private readonly redis: Redis,
    private readonly name: string,
  ) {}

  async write(token: number | undefined, writer: string): Promise<'accepted' | 'stale'> {
    const keys = [`token:${this.name}`, `writers:${this.name}`];
    const answer = await this.redis.eval(WRITE, 2, ...keys, String(token), writer);
    return answer === 1 ? 'accepted' : 'stale';
  }

  /** The writers in the order of their writes. */
  writers(): Promise<string[]> {
    return this.redis.lrange(`writers:${this.name}`, 0, -1);
  }
}
