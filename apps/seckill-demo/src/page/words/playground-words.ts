import type { InBoth } from '../words.js';

type Named = readonly [name: string, text: string];

export interface PlaygroundWords {
  readonly title: string;
  readonly lead: string;
  readonly search: string;
  readonly searchWith: string;
  readonly searching: (tried: number, tries: number) => string;
  readonly stop: string;
  readonly notFound: (tries: number) => string;
  readonly found: (tried: number) => string;
  readonly stopped: (tried: number) => string;
  readonly verdicts: Readonly<Record<'safe' | 'oversold' | 'stuck', string>>;
  readonly oversold: (piece: number, first: string, second: string) => string;
  readonly late: (caller: string) => string;
  readonly thief: (caller: string, holder: string) => string;
  readonly stuck: string;
  readonly books: (orders: number, pieces: number) => string;
  readonly run: string;
  readonly plug: (process: number) => string;
  readonly freeze: (process: number) => string;
  readonly hands: string;
  readonly handsHint: string;
  readonly code: string;
  readonly interleaving: string;
  readonly columns: readonly [time: string, process: string, caller: string, step: string];
  readonly score: string;
  readonly scoreLead: string;
  readonly makeIt: string;
  readonly scoreColumns: readonly [strategy: string, result: string, replay: string];
  readonly broken: (verdict: string, tried: number) => string;
  readonly safe: (tries: number) => string;
  readonly replay: (strategy: string) => string;
  readonly real: string;
  readonly standIns: readonly Named[];
  readonly copy: string;
  readonly copied: string;
  readonly notCopied: string;
}

export const playgroundWords: InBoth<PlaygroundWords> = {
  en: {
    title: 'Playground: break a lock yourself',
    lead:
      'This is the library itself, with its Lua, in your browser. Time, network and processes are ' +
      'simulated, so that each run follows from its address. Send the address to a colleague to show a failure.',
    search: 'Find a run that breaks',
    searchWith: 'The search may',
    searching: (tried, tries) => `seed ${tried} of ${tries} …`,
    stop: 'Stop',
    notFound: (tries) => `safe in all ${tries} seeds tried`,
    found: (tried) => `found after ${tried} ${tried === 1 ? 'seed' : 'seeds'}`,
    stopped: (tried) =>
      `stopped after ${tried} ${tried === 1 ? 'seed' : 'seeds'}, none of which broke`,
    verdicts: { safe: 'safe in this run', oversold: 'oversold', stuck: 'stuck' },
    oversold: (piece, first, second) =>
      `Callers ${first} and ${second} sold the same piece, number ${piece}.`,
    late: (caller) => `Caller ${caller} wrote after its lease, without the lock.`,
    thief: (caller, holder) => `Caller ${caller} deleted the lock of caller ${holder}.`,
    stuck: 'The key of the lock has no TTL. No later caller acquires the lock.',
    books: (orders, pieces) => `${orders} orders sold, the stock fell by ${pieces}.`,
    run: 'The run',
    plug: (process) => `Pull the plug of process ${process}`,
    freeze: (process) => `Freeze process ${process}`,
    hands: 'At the playhead',
    handsHint: 'Play or step to a moment first. The fault becomes part of the address.',
    code: 'The code that runs',
    interleaving: 'Step by step',
    columns: ['ms', 'process', 'caller', 'step'],
    score: 'Make it oversell',
    scoreLead:
      'Each strategy runs with your numbers and faults, from seed 1. Each seed runs as it is first. Then a process is killed or frozen, right after one of its steps.',
    makeIt: 'Try all strategies',
    scoreColumns: ['strategy', 'result', 'replay'],
    broken: (verdict, tried) => `${verdict} after ${tried} ${tried === 1 ? 'seed' : 'seeds'}`,
    safe: (tries) => `safe in ${tries} seeds`,
    replay: (strategy) => `Replay ${strategy}`,
    real: 'Real and simulated',
    standIns: [
      ['Real', 'the core, the locks and the Lua scripts of this library; its Redis in process'],
      ['Simulated', 'time, event loops, connections and their delays; each follows from the seed'],
      [
        'AsyncLocalStorage, AsyncResource',
        'a stand-in that knows its store until the first await; no strategy acquires a lock inside of another',
      ],
      ['Buffer', 'a stand-in of four methods, for owners and tokens'],
      ['crypto', 'the seed replaces it; scripts are found by their text, not by a hash'],
      ['diagnostics_channel', 'a stand-in without subscribers'],
      ['timers, process.nextTick', 'virtual time, and a microtask'],
      ['setImmediate, MessageChannel', 'a message, which comes after all microtasks'],
      ['util, os', 'a check of a type, a symbol, and a fixed name'],
    ],
    copy: 'Copy the address',
    copied: 'copied',
    notCopied: 'Copy it from the address bar',
  },
  zh: {
    title: '实验台：亲手把锁弄坏',
    lead: '浏览器里跑的就是本库的代码和 Lua 脚本，时间、网络和进程是模拟的。地址决定一次运行的全部过程：把地址发给同事，他看到的就是同一次故障。',
    search: '找出一次出错的运行',
    searchWith: '搜索时允许',
    searching: (tried, tries) => `第 ${tried} / ${tries} 个种子……`,
    stop: '停止',
    notFound: (tries) => `试了 ${tries} 个种子，全部安全`,
    found: (tried) => `试到第 ${tried} 个种子时出错`,
    stopped: (tried) => `已停止：试了 ${tried} 个种子，都没有出错`,
    verdicts: { safe: '本次运行安全', oversold: '超卖', stuck: '卡死' },
    oversold: (piece, first, second) =>
      `调用方 ${first} 和 ${second} 卖出了同一件商品（第 ${piece} 件）。`,
    late: (caller) => `调用方 ${caller} 的租约已过期，却仍然写入了库存。`,
    thief: (caller, holder) => `调用方 ${caller} 删除了调用方 ${holder} 的锁。`,
    stuck: '锁的键没有 TTL，之后的调用方都拿不到锁。',
    books: (orders, pieces) => `成交 ${orders} 单，库存减少 ${pieces} 件。`,
    run: '运行过程',
    plug: (process) => `拔掉进程 ${process} 的电源`,
    freeze: (process) => `冻结进程 ${process}`,
    hands: '在播放位置',
    handsHint: '先播放或单步到某个时刻。故障会写进地址。',
    code: '正在运行的代码',
    interleaving: '逐步过程',
    columns: ['ms', '进程', '调用方', '步骤'],
    score: '让它超卖',
    scoreLead:
      '按上面的设置和故障，从种子 1 开始逐个运行各策略：每个种子先照原样运行，再在某一步之后杀掉或冻结一个进程。',
    makeIt: '全部试一遍',
    scoreColumns: ['策略', '结果', '重放'],
    broken: (verdict, tried) => `第 ${tried} 个种子${verdict}`,
    safe: (tries) => `${tries} 个种子全部安全`,
    replay: (strategy) => `重放 ${strategy}`,
    real: '哪些是真的，哪些是模拟的',
    standIns: [
      ['真实', '本库的核心、各种锁和 Lua 脚本，以及本库的进程内 Redis'],
      ['模拟', '时间、事件循环、连接及其延迟，全部由种子决定'],
      [
        'AsyncLocalStorage、AsyncResource',
        '替代品只在第一个 await 之前记得上下文；各策略都没有嵌套加锁',
      ],
      ['Buffer', '只有四个方法的替代品，用于持有者和令牌'],
      ['crypto', '由种子代替；脚本按文本查找，不用哈希'],
      ['diagnostics_channel', '没有订阅者的替代品'],
      ['定时器、process.nextTick', '虚拟时间和微任务'],
      ['setImmediate、MessageChannel', '一条消息，在所有微任务之后执行'],
      ['util、os', '一个类型判断、一个符号和一个固定的主机名'],
    ],
    copy: '复制地址',
    copied: '已复制',
    notCopied: '请从地址栏复制',
  },
};
