import type { InBoth } from '../words.js';

export interface ReplayWords {
  readonly title: string;
  readonly intro: string;
  readonly following: string;
  readonly follow: string;
  readonly back: string;
  readonly none: string;
  readonly later: (cell: string) => string;
  readonly never: (cell: string) => string;
  readonly play: string;
  readonly pause: string;
  readonly stepBack: string;
  readonly stepOn: string;
  readonly speed: string;
  readonly slow: string;
  readonly position: string;
  readonly compare: (strategy: string) => string;
  readonly rush: (strategy: string, processes: number) => string;
  readonly duel: (strategy: string) => string;
  readonly fault: (strategy: string, fault: string) => string;
  readonly part: (part: string, withLock: boolean) => string;
  readonly key: {
    readonly title: string;
    readonly gone: string;
    readonly unseen: string;
    readonly ttl: string;
    readonly forever: string;
    readonly queue: string;
    readonly emptyQueue: string;
    readonly claims: string;
    readonly token: string;
  };
  readonly code: string;
  readonly noCode: string;
  readonly unmarked: string;
}

export const replayWords: InBoth<ReplayWords> = {
  en: {
    title: 'Holders of the lock',
    intro:
      'Each process has a lane. A bar is a critical section. Red: two holders are inside at once.',
    following: 'being played now',
    follow: 'Follow the run',
    back: 'Back to the matrix',
    none: 'The first cell has not begun.',
    later: (cell) => `${cell} has not been played yet. It appears here when the run comes to it.`,
    never: (cell) => `${cell} is not in this run.`,
    play: 'Play',
    pause: 'Pause',
    stepBack: 'Step back',
    stepOn: 'Next step',
    speed: 'Speed',
    slow: 'slow',
    position: 'Position in the cell',
    compare: (strategy) => `The same with ${strategy}`,
    rush: (strategy, processes) =>
      `${strategy}: the rush, ${processes} process${processes === 1 ? '' : 'es'}`,
    duel: (strategy) => `${strategy}: the duel`,
    fault: (strategy, fault) => `${strategy}: ${fault}`,
    part: (part, withLock) => `${part} ${withLock ? 'with' : 'without'} its lock`,
    key: {
      title: 'The key in Redis',
      gone: 'no holder',
      unseen: 'The arena does not read the key during a rush, because reads would slow the buyers.',
      ttl: 'TTL',
      forever: 'none: it never expires',
      queue: 'queue',
      emptyQueue: 'empty',
      claims: 'claims',
      token: 'token',
    },
    code: 'The strategy',
    noCode: 'This cell has no strategy of its own.',
    unmarked: 'No line of it causes a fault here.',
  },
  zh: {
    title: '锁的持有者',
    intro: '每个进程一条泳道，每根横条是一段临界区。红色表示同时有两个持有者。',
    following: '正在运行',
    follow: '跟随运行',
    back: '回到矩阵',
    none: '第一格尚未开始。',
    later: (cell) => `${cell} 尚未运行，轮到它时会在这里显示。`,
    never: (cell) => `这次运行没有 ${cell}。`,
    play: '播放',
    pause: '暂停',
    stepBack: '上一步',
    stepOn: '下一步',
    speed: '速度',
    slow: '慢放',
    position: '这一格的播放位置',
    compare: (strategy) => `对比 ${strategy}`,
    rush: (strategy, processes) => `${strategy}：抢购，${processes} 个进程`,
    duel: (strategy) => `${strategy}：对决`,
    fault: (strategy, fault) => `${strategy}：${fault}`,
    part: (part, withLock) => `${part}：${withLock ? '用锁' : '不用锁'}`,
    key: {
      title: 'Redis 中的键',
      gone: '无持有者',
      unseen: '抢购期间不读取这个键，以免拖慢买家。',
      ttl: 'TTL',
      forever: '无：永不过期',
      queue: '等待队列',
      emptyQueue: '空',
      claims: '排队记录',
      token: '令牌',
    },
    code: '策略代码',
    noCode: '这一格没有对应的策略。',
    unmarked: '这里没有出错的代码行。',
  },
};
