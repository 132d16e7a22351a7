import type { InBoth } from '../words.js';

type OfBuyer = (buyer: string, remaining?: number) => string;
type OfProcess = (process: number) => string;

/** One sentence for each event of a lesson. */
export interface NarrationWords {
  readonly buyer: (name: string) => string;
  readonly waits: OfBuyer;
  readonly acquires: OfBuyer;
  readonly reads: OfBuyer;
  readonly hasRead: OfBuyer;
  readonly writes: OfBuyer;
  readonly releases: OfBuyer;
  readonly leaves: OfBuyer;
  readonly refused: OfBuyer;
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
      if (name === 'first') return 'The first buyer';
      return name === 'next' ? 'The next buyer' : name.replace('buyer-', 'Buyer ');
    },
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
    killed: (process) => `Process ${process} is killed.`,
    frozen: (process) => `Process ${process} freezes.`,
    thawed: (process) => `Process ${process} runs again.`,
    lost: (process) => `The library reports the lost lease to process ${process}.`,
    foreignDelete: (process) => `Process ${process} deletes the lock of the next buyer.`,
    leaseEnded: 'The lease expires.',
  },
  zh: {
    buyer: (name) => {
      if (name === 'first') return '第一个买家';
      return name === 'next' ? '下一个买家' : name.replace(/buyer-(\d+)/, '买家 $1 ');
    },
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
    killed: (process) => `进程 ${process} 被杀。`,
    frozen: (process) => `进程 ${process} 冻结。`,
    thawed: (process) => `进程 ${process} 恢复运行。`,
    lost: (process) => `本库通知进程 ${process}：租约已丢失。`,
    foreignDelete: (process) => `进程 ${process} 删除了下一个买家的锁。`,
    leaseEnded: '租约过期。',
  },
};
