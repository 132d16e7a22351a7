import type { InBoth } from '../words.js';

export interface ReplayWords {
  readonly title: string;
  readonly intro: string;
  readonly following: string;
  readonly follow: string;
  readonly back: string;
  readonly none: string;
  readonly play: string;
  readonly pause: string;
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
    title: 'Who holds the lock',
    intro:
      'One lane for each process. A bar is a critical section. Red means that two were inside at once.',
    following: 'being played now',
    follow: 'Follow the run',
    back: 'Back to the matrix',
    none: 'The first cell has not begun.',
    play: 'Play',
    pause: 'Pause',
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
      gone: 'nobody holds the lock',
      unseen: 'In a rush nobody looks at the key: that would slow the buyers.',
      ttl: 'TTL',
      forever: 'none: it never expires',
      queue: 'queue',
      emptyQueue: 'empty',
      claims: 'claims',
      token: 'token',
    },
    code: 'The strategy',
    noCode: 'This cell plays no strategy of its own.',
    unmarked: 'No line of it is to blame here.',
  },
  zh: {
    title: '谁持有锁',
    intro: '每个进程一条泳道，一根横条是一段临界区。红色表示两个持有者同时在里面。',
    following: '正在跑',
    follow: '跟随运行',
    back: '回到矩阵',
    none: '第一格还没开始。',
    play: '播放',
    pause: '暂停',
    speed: '速度',
    slow: '慢放',
    position: '这一格的播放位置',
    compare: (strategy) => `换成 ${strategy} 再看`,
    rush: (strategy, processes) => `${strategy}：抢购，${processes} 个进程`,
    duel: (strategy) => `${strategy}：对决`,
    fault: (strategy, fault) => `${strategy}：${fault}`,
    part: (part, withLock) => `${part}：${withLock ? '用锁' : '不用锁'}`,
    key: {
      title: 'Redis 里的键',
      gone: '没有人持有锁',
      unseen: '抢购时不去查看这个键，以免拖慢买家。',
      ttl: 'TTL',
      forever: '无：永不过期',
      queue: '等待队列',
      emptyQueue: '空',
      claims: '认领',
      token: '令牌',
    },
    code: '策略代码',
    noCode: '这一格没有单独的策略。',
    unmarked: '这里没有哪一行有错。',
  },
};
