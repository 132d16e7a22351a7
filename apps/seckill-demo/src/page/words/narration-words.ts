import type { InBoth } from '../words.js';
import { buyerWords } from '../words.js';

type OfActor = (actor: string, remaining?: number) => string;
type OfProcess = (process: number) => string;

/** One sentence for each event of a lesson. */
export interface NarrationWords {
  readonly buyer: (name: string) => string;
  readonly process: OfProcess;
  readonly waits: OfActor;
  readonly acquires: OfActor;
  readonly reads: OfActor;
  readonly hasRead: OfActor;
  readonly writes: OfActor;
  readonly releases: OfActor;
  readonly leaves: OfActor;
  readonly refused: OfActor;
  readonly checks: OfActor;
  readonly prices: OfActor;
  readonly overwrites: OfActor;
  readonly killed: OfProcess;
  readonly frozen: OfProcess;
  readonly thawed: OfProcess;
  readonly lost: OfProcess;
  readonly foreignDelete: OfProcess;
  readonly leaseEnded: string;
}

export const narrationWords: InBoth<NarrationWords> = {
  en: {
    buyer: (name) => {
      const word = buyerWords.en(name);
      return word.startsWith('buyer') ? `B${word.slice(1)}` : `The ${word}`;
    },
    process: (process) => `Process ${process}`,
    waits: (buyer) => `${buyer} waits for the lock.`,
    acquires: (buyer) => `${buyer} acquires the lock.`,
    reads: (buyer) => `${buyer} reads the stock.`,
    hasRead: (buyer, remaining) =>
      remaining === undefined
        ? `${buyer} has read the stock, and prepares the write.`
        : `${buyer} has read ${remaining + 1}, and prepares the write of ${remaining}.`,
    writes: (buyer, remaining) =>
      `${buyer} writes the new stock${remaining === undefined ? '' : `: ${remaining}`}.`,
    releases: (buyer) => `${buyer} prepares the release of its lock.`,
    leaves: (buyer) => `${buyer} does not get the lock, and leaves.`,
    refused: (buyer) => `${buyer}: the write is refused.`,
    checks: (process) => `${process} passes assertHeld(), and prepares the write of its price.`,
    prices: (process) => `${process} writes its price.`,
    overwrites: (process) => `${process} overwrites the newer price, without the lock.`,
    killed: (process) => `Process ${process} is killed.`,
    frozen: (process) => `Process ${process} freezes.`,
    thawed: (process) => `Process ${process} runs again.`,
    lost: (process) => `The library reports the lost lease to process ${process}.`,
    foreignDelete: (process) => `Process ${process} deletes the lock of the next buyer.`,
    leaseEnded: 'The lease expires.',
  },
  zh: {
    buyer: (name) => buyerWords.zh(name).replace(/\d$/, '$& '),
    process: (process) => `进程 ${process} `,
    waits: (buyer) => `${buyer}等待锁。`,
    acquires: (buyer) => `${buyer}获取锁。`,
    reads: (buyer) => `${buyer}读取库存。`,
    hasRead: (buyer, remaining) =>
      remaining === undefined
        ? `${buyer}读到库存，准备写入。`
        : `${buyer}读到 ${remaining + 1}，准备写入 ${remaining}。`,
    writes: (buyer, remaining) =>
      `${buyer}写入新的库存${remaining === undefined ? '' : `：${remaining}`}。`,
    releases: (buyer) => `${buyer}准备释放锁。`,
    leaves: (buyer) => `${buyer}没有获取到锁，直接返回。`,
    refused: (buyer) => `${buyer}的写入被拒绝。`,
    checks: (process) => `${process}通过 assertHeld()，准备写入价格。`,
    prices: (process) => `${process}写入价格。`,
    overwrites: (process) => `${process}未持锁，覆盖了较新的价格。`,
    killed: (process) => `进程 ${process} 被杀。`,
    frozen: (process) => `进程 ${process} 冻结。`,
    thawed: (process) => `进程 ${process} 恢复运行。`,
    lost: (process) => `本库通知进程 ${process}：租约已丢失。`,
    foreignDelete: (process) => `进程 ${process} 删除了下一个买家的锁。`,
    leaseEnded: '租约过期。',
  },
};
