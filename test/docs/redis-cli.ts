import type { Redis } from 'ioredis';
import type { RedisFixture } from '../support/redis-server.js';
import { FOREIGN_CLIENT } from '../support/redisson.js';
import { serverNow } from '../support/moments.js';

/** The steps before the commands below a remark of a block. */
export type Step = () => unknown;

/** Times are multiples of this in the blocks, so that a busy machine shows the same. */
const ROUND_MS = 5_000;
const rounded = (ms: number) => Math.round(ms / ROUND_MS) * ROUND_MS;

const PROMPT = /^(?:node(\d))?> (\S+) ?(.*)$/;

/** Runs the blocks of a page as redis-cli does. Clients, times, nonces and bytes have names there. */
export class RedisCli {
  /** By what Redis stores. */
  #shown = new Map<string, string>();
  #messages: (readonly [channel: string, message: string])[] = [];
  #ear: Redis | undefined;
  #startMs = 0;

  constructor(private readonly nodes: readonly RedisFixture[]) {}

  async open(): Promise<void> {
    const [first] = this.nodes;
    if (first === undefined) throw new Error('A page shows at least one server');
    this.#shown = new Map([[FOREIGN_CLIENT, 'uuid-j']]);
    this.#messages = [];
    this.#startMs = await serverNow(first.admin);
    this.#ear = first.admin.duplicate();
    // A server may end within a block.
    this.#ear.on('error', () => undefined);
    this.#ear.on('pmessage', (_, channel: string, message: string) => {
      this.#messages.push([this.#text(channel), this.#text(message)]);
    });
    await this.#ear.psubscribe('*');
  }

  close(): void {
    this.#ear?.disconnect();
  }

  /** The client has this name in the blocks. */
  name(id: string, name: string): void {
    this.#shown.set(id, name);
  }

  /** The block with the answers of now. Each remark takes a step, and each command is executed. */
  async run(block: string, steps: readonly Step[]): Promise<string> {
    const left = [...steps];
    const shown: string[] = [];
    for (const line of block.trimEnd().split('\n')) {
      const [, node = '1', name = '', args = ''] = PROMPT.exec(line) ?? [];
      if (line.startsWith('# ')) await (left.shift() ?? missing(line))();
      if (name !== '') shown.push(line, ...(await this.#answer(Number(node), name, args)));
      else if (line.startsWith('# ')) shown.push(line);
    }
    if (left.length > 0) throw new Error(`${String(left.length)} steps have no remark in the page`);
    return `${shown.join('\n')}\n`;
  }

  async #answer(node: number, name: string, args: string): Promise<string[]> {
    if (name === 'SUBSCRIBE') {
      // Earlier messages arrive before this answer.
      await this.#ear?.ping();
      const received = this.#messages.filter(([channel]) => channel === args);
      return received.flatMap((message) => this.#lines(['message', ...message]));
    }
    const real = [...this.#shown].reduce((text, [id, shown]) => text.replaceAll(shown, id), args);
    const reply = await this.nodes[node - 1]?.admin.call(name, ...real.split(' '));
    return this.#lines(name === 'PTTL' ? rounded(Number(reply)) || Number(reply) : reply);
  }

  #lines(reply: unknown): string[] {
    if (reply === null) return ['(nil)'];
    if (typeof reply === 'number') return [`(integer) ${String(reply)}`];
    if (typeof reply === 'string') return [`"${this.#text(reply)}"`];
    const items: unknown[] = Array.isArray(reply)
      ? reply.flat()
      : Object.entries(reply as object).flat();
    if (items.length === 0) return ['(empty array)'];
    return items.flatMap((item, i) => `${String(i + 1)}) ${this.#lines(item).join('\n')}`);
  }

  #text(text: string): string {
    return [...this.#shown]
      .reduce((all, [id, shown]) => all.replaceAll(id, shown), text)
      .replace(/\b\d{13}\b/g, (ms) => `T+${String(rounded(Number(ms) - this.#startMs))}`)
      .replace(/\b[0-9a-f]{32}\b/g, '<nonce>')
      .replace(/^.*[^\x20-\x7e].*$/s, '<16 bytes>');
  }
}

function missing(remark: string): never {
  throw new Error(`No step is for "${remark}"`);
}
