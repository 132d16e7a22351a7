import type { MarkKind } from '../timeline/marks.js';
import { buyerWords } from '../words.js';
import type { InBoth } from '../words.js';

export interface TimelineWords {
  /** The processes of the playground have no pid: it is their number. */
  readonly process: (number: number | undefined, pid: number) => string;
  readonly marks: Readonly<Record<MarkKind, string>>;
  readonly gaps: Readonly<Record<'frozen' | 'cut' | 'blocked' | 'ended', string>>;
  readonly overlap: (holders: number) => string;
  readonly nobody: string;
  readonly time: (ms: number) => string;
  readonly buyer: (name: string) => string;
  readonly pause: (ms: number) => string;
  readonly bar: (buyer: string, answer: string | undefined) => string;
  readonly crowd: (waiting: number) => string;
  /** An answer without a word of its own is shown as it is. */
  readonly answer: (name: string) => string;
  readonly picture: (bars: number, overlaps: number, lanes: number) => string;
  readonly legend: Readonly<
    Record<'wait' | 'bar' | 'tail' | 'suspect' | 'tick' | 'overlap' | 'gap', string>
  >;
  readonly asTable: string;
  readonly columns: readonly [string, string, string, string, string];
  readonly leaseOver: string;
}

const ANSWERS: InBoth<Readonly<Record<string, string>>> = {
  en: {
    sold: 'sold',
    'sold-out': 'sold out',
    busy: 'busy',
    duplicate: 'has one',
    refused: 'refused',
    cut: 'no answer',
    priced: 'price written',
    lost: 'too late',
  },
  zh: {
    sold: '售出',
    'sold-out': '售罄',
    busy: '没抢到',
    duplicate: '已下单',
    refused: '被拒绝',
    cut: '没有响应',
    priced: '已写入价格',
    lost: '太晚',
  },
};

export const timelineWords: InBoth<TimelineWords> = {
  en: {
    process: (number, pid) =>
      number === pid
        ? `process ${pid}`
        : `${number === undefined ? '' : `process ${number} · `}pid ${pid}`,
    marks: {
      killed: 'killed',
      'lease-ended': 'lease expired',
      'foreign-delete': 'deleted a foreign lock',
      'stale-refused': 'stale write refused',
      'redis-paused': 'Redis paused',
      'redis-resumed': 'Redis resumed',
      'redis-restarted': 'Redis restarted, empty',
      'redis-failed-over': 'Redis failed over',
      'wrote-late': 'wrote without the lock',
      busy: 'busy, left',
      refused: 'write refused',
      lost: 'lock lost',
      'renewal-failed': 'renewal failed',
    },
    gaps: {
      frozen: 'frozen',
      cut: 'network cut',
      blocked: 'event loop blocked',
      ended: 'dead',
    },
    overlap: (holders) => `${holders} inside at once`,
    nobody: 'No critical section here yet.',
    time: (ms) => inWords(ms),
    pause: (ms) => `${inWords(ms)}, drawn shorter`,
    buyer: buyerWords.en,
    bar: (buyer, answer) => (answer === undefined ? buyer : `${buyer}: ${answer}`),
    crowd: (waiting) => `+ ${waiting} waiting`,
    answer: (name) => ANSWERS.en[name] ?? name,
    picture: (bars, overlaps, lanes) =>
      `${bars} critical sections in ${lanes} processes; ${
        overlaps === 0 ? 'never two holders at once' : `several holders at once, ${overlaps} times`
      }.`,
    legend: {
      wait: 'waits',
      bar: 'holds the lock',
      tail: 'releases it',
      suspect: 'wrongly assumes that it holds it',
      tick: 'renewal',
      overlap: 'two inside at once',
      gap: 'frozen, cut off or dead',
    },
    asTable: 'as a table',
    columns: ['process', 'buyer', 'from', 'to', 'answer'],
    leaseOver: 'lease expired at',
  },
  zh: {
    process: (number, pid) =>
      number === pid
        ? `进程 ${pid}`
        : `${number === undefined ? '' : `进程 ${number} · `}pid ${pid}`,
    marks: {
      killed: '被杀',
      'lease-ended': '租约过期',
      'foreign-delete': '误删他人锁',
      'stale-refused': '拒绝过期写入',
      'redis-paused': 'Redis 暂停',
      'redis-resumed': 'Redis 恢复',
      'redis-restarted': 'Redis 重启，数据清空',
      'redis-failed-over': 'Redis 主从切换',
      'wrote-late': '未持锁写入',
      busy: '没抢到锁，返回',
      refused: '写入被拒绝',
      lost: '锁已丢失',
      'renewal-failed': '续期失败',
    },
    gaps: { frozen: '冻结', cut: '断网', blocked: '事件循环阻塞', ended: '已退出' },
    overlap: (holders) => `同时 ${holders} 个持有者`,
    nobody: '这里尚无临界区。',
    time: (ms) => inWords(ms),
    pause: (ms) => `${inWords(ms)}，已缩短显示`,
    buyer: buyerWords.zh,
    bar: (buyer, answer) => (answer === undefined ? buyer : `${buyer}：${answer}`),
    crowd: (waiting) => `+ ${waiting} 个等待`,
    answer: (name) => ANSWERS.zh[name] ?? name,
    picture: (bars, overlaps, lanes) =>
      `${lanes} 个进程，${bars} 段临界区；${
        overlaps === 0 ? '任何时刻最多一个持有者' : `${overlaps} 次出现多个持有者`
      }。`,
    legend: {
      wait: '等待',
      bar: '持有锁',
      tail: '正在释放锁',
      suspect: '误认为仍然持有',
      tick: '续期',
      overlap: '同时有两个持有者',
      gap: '冻结、断网或已退出',
    },
    asTable: '看表格',
    columns: ['进程', '买家', '开始', '结束', '响应'],
    leaseOver: '租约过期于',
  },
};

function inWords(ms: number): string {
  const length = Math.abs(ms);
  if (length < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (length < 1_000) return `${Math.round(ms)} ms`;
  return `${Math.round(ms / 10) / 100} s`;
}
