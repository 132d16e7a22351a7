import type { Redis } from 'ioredis';
import Redlock from 'redlock';

export class Settlement {
  private readonly redlock: Redlock;

  constructor(nodes: Redis[]) {
    this.redlock = new Redlock(nodes);
  }

  async run(day: string, settle: () => Promise<void>): Promise<void> {
    await this.redlock.using([`settlement_${day}`], 10_000, settle);
  }
}
