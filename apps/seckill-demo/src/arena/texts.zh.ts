import type { Cell } from './cell.js';
import type { LoadResult } from './load-result.js';
import type { PartResult } from './parts/part.js';
import type { Texts } from './texts.js';

export const chinese: Texts = {
  privateRedis: (port) => `私有 Redis：127.0.0.1:${port}。`,
  foreignRedis: (prefix) =>
    `使用 REDIS_URL 指定的 Redis，前缀 ${prefix}，结束时只删除这些键。这些故障都不会停掉 Redis，所以全部照跑。`,
  cannotRecord: (reason) => `--record 无法写入文件：${reason}`,
  pageAt: (url) => `打开网页观看：${url}`,
  redisUnreachable: (reason) => `REDIS_URL 指定的 Redis 不可用：${reason}`,
  privateDatabase: (port) => `私有 Postgres：127.0.0.1:${port}。`,
  foreignDatabase: (schema) =>
    `使用 DATABASE_URL 指定的 Postgres，新建模式 ${schema}，结束时只删除它。`,
  databaseUnreachable: (reason) => `DATABASE_URL 指定的 Postgres 不可用：${reason}`,
  cell: titleOf,
  duelVerdict: ({ strategy, sold, stock, oversold }) =>
    `${strategy}：库存 ${stock}，售出 ${sold}${oversold > 0 ? `，超卖 ${oversold} 件` : ''}。`,

  loadTitle: (stock, buyers) => `抢购：库存 ${stock}，${buyers} 人同时下单，每人只试一次`,
  loadColumns: [
    '策略',
    '售出',
    '超卖',
    '少卖',
    '账实差',
    '被拒',
    '订单\n/秒',
    'p50\nms',
    'p99\nms',
    '结论',
  ],
  processes: (number) => `${number} 个进程：`,
  verdict: verdictOf,
  loadNotes: `售出：被告知抢到的人数。超卖：卖得比库存多。少卖（“剩 99 件没卖”）：还有库存
却把人拒之门外。账实差：订单数减去库存计数器所说的售出数。被拒：已经卖完，或别
人正在下单。p50、p99：一半的人、99% 的人在这段时间内得到答复，从开门算起。预期
会出错的策略，最先的订单会停在“读库存”与“写库存”之间，直到错误必然发生。`,
  costTitle: '一单在 Redis 里的代价，以及是否先来先得：',
  costColumns: [
    (processes) => `每单命令数，\n${processes} 个进程`,
    (processes) => `被插队（%），\n${processes} 个进程`,
  ],
  costNotes: `每单命令数：Redis 为一位买家执行的全部命令，脚本里的也算。被插队：买到的人
当中，购买顺序与到达顺序相反的买家对所占的百分比，0 是排队，50 是碰运气。
-：有人买到同一件，或买到的不足两人。`,
  strategyTitle: '各种策略；到 redis-lock 为止，每一种修补前一种的漏洞：',
  strategies: {
    naive: '不加锁',
    'in-process': '每个进程内存里的互斥锁',
    setnx: 'SETNX；没抢到锁的人直接离开',
    'setnx-expire': '先 SETNX，再 EXPIRE',
    'set-nx-px': '一条命令完成两步：带 NX 与 PX 的 SET',
    'owner-check': '锁里记着主人，DEL 之前先看一眼（GET）',
    'lua-release': '查看与删除放进同一段脚本',
    'redis-lock': '本库：会等待，会续租，写入之前先确认',
    fair: '本库，先到先得',
    'lock-in-tx': '与 redis-lock 相同，但事务还没提交就放了锁',
    fenced: '与 redis-lock 相同，再由数据库拒绝来迟的写入',
    'sql-update': 'Redis 里不加锁：UPDATE … WHERE stock > 0',
    'lua-decrement': '先减 Redis 里的计数，再走 sql-update；不加锁',
    redlock: '另一个库：redlock 5（beta），单个 Redis',
    'redis-semaphore': '另一个库：redis-semaphore 5 的互斥锁',
  },

  faultTitle: '故障：这场秒杀后来怎样了',
  faultColumn: '策略',
  faults: {
    'killed-in-section': '持锁时\n被杀',
    'killed-before-expire': '死在 SETNX\n与 EXPIRE\n之间',
    'slow-work': '业务慢于\n租约',
    'lease-ends-before-del': 'GET 与 DEL\n之间\n租约到期',
    frozen: '进程冻结\n超过租约',
  },
  outcomes: {
    ok: '正常',
    refused: '已拦下',
    stuck: '卡死',
    'foreign-delete': '误删他人锁',
    oversold: '超卖',
    'stale-write': '过期写入',
    'lost-piece': '丢一件',
    none: '-',
    error: '出错',
  },
  faultNotes: `卡死：再也没有人能买。误删他人锁：迟到的持有者删掉了正在里面的人的锁。超卖：订
单比库存多。过期写入：迟到的持有者盖掉了别人卖出的数，库存计数错了。丢一件：显
示已售罄，却有一件从未卖出。已拦下：写入前的检查或数据库没让迟到的持有者写入，
账目无误。-：Redis 里没有锁，或者就是 redis-lock 的锁。没有 SETNX 与 EXPIRE 两
步的策略，在刚拿到锁时被杀；没有 GET 与 DEL 两步的，停在即将放锁之前。
sql-update 用的是行锁：它冻结多久，别人就得等多久。`,

  partTitle: '秒杀的其他环节：另外几种锁各管什么',
  partColumns: ['环节', '锁', '不用它', '用它'],
  partLocks: {
    queue: '公平锁',
    opening: '闭锁',
    payment: '信号量',
    offer: '读写锁',
    cart: '联锁',
    ticket: '限流',
    report: '定时任务锁',
    fence: '围栏令牌',
  },
  partFigures: figuresOf,
  partNotes: `queue：20 人依次到来；逆序：购买顺序与到达顺序相反的买家对数，不用公平锁时只测
量，不作保证。opening：还有一个进程没准备好时卖出的订单（提前），以及全部就绪
之后的。payment：支付网关一次只接五人；被赶出：多出来的人。offer：读价格和库存
时两者正在改；读错：看到旧价格配新库存的人；同时读：一起在读的人数。cart：一个
买 A 和 B，另一个买 B 和 A；死锁：各自拿着对方要等的，谁也买不成。ticket：每人
十秒内最多试五次，他在每个进程都试。report：夜间任务的时刻在各进程同时到来。
fence：进程在 assertHeld() 与写入价格 99 之间冻结，租约到期，另一个进程写入 49。`,

  checkPassed: (compared, measured, seconds) =>
    `检查通过：${compared} 格全部符合预期${measured > 0 ? `，${measured} 格只测量` : ''}，${seconds} 秒`,
  checkFailed: (mismatches, seconds) => `检查未通过：${mismatches} 格不符合预期，${seconds} 秒`,
  mismatch: ({ cell, expected, outcome }) =>
    `  ${titleOf(cell)}：预期 "${expected}"，实际 "${outcome}"`,

  tutorialLines: '教程同款：库存 10，11 人抢购。',
  stage: (number, strategy) => `--- ${number}. ${strategy}`,
  serving: ({ url, pids, product, curls }) =>
    `商品 ${product.id} 有 ${product.stock} 件，正在 ${url} 出售（进程 ${pids.join(', ')}）。试试：\n` +
    curls.map((curl) => `  ${curl}\n`).join('') +
    'Ctrl-C 停止一切。',
  portTaken: (port) => `端口 ${port} 已被占用，另选一个。`,
  replaced: (pid) => `进程 ${pid} 已退出，正在补上一个新的。`,
  stopping: '正在停止。',
};

function verdictOf(result: LoadResult): string {
  switch (result.outcome) {
    case 'oversells':
      return `多卖了 ${result.oversold} 件。`;
    case 'undersells':
      return `剩 ${result.undersold} 件没卖。`;
    case 'miscounts':
      return `账目差 ${Math.abs(result.ledgerDifference)} 件。`;
    case 'breaks':
      return `${result.failed} 人没有答复。`;
    case 'exact':
      return result.sold < result.stock ? '人人有份。' : '正好卖完。';
  }
}

function figuresOf(result: PartResult): string {
  switch (result.part) {
    case 'queue':
      return `${result.buyers} 人，逆序 ${result.inversions} 对`;
    case 'opening':
      return `提前 ${result.early} 单，之后 ${result.sold} 单`;
    case 'payment':
      return `付款 ${result.paid}，被赶出 ${result.refused}`;
    case 'offer':
      return `读错 ${result.torn}，同时读 ${result.together}`;
    case 'cart':
      return `售出 ${result.sold}，死锁 ${result.stuck}`;
    case 'ticket':
      return `放行 ${result.letIn} 次，上限 ${result.limit}`;
    case 'report':
      return `执行 ${result.runs} 次，${result.processes} 个进程`;
    case 'fence':
      return `价格 ${result.price / 100}，${result.outcome === 'refused' ? '保住了' : '被迟到者覆盖'}`;
  }
}

function titleOf(cell: Cell): string {
  switch (cell.kind) {
    case 'duel':
      return `${cell.strategy}：对决`;
    case 'rush':
      return `${cell.strategy}：抢购，${cell.processes} 个进程`;
    case 'fault':
      return `${cell.strategy}：${oneLine(chinese.faults[cell.fault])}`;
    case 'part':
      return `${cell.part}：${cell.withLock ? '用' : '不用'}${chinese.partLocks[cell.part]}`;
  }
}

/** Chinese goes on without a space in between, except beside Latin letters. */
function oneLine(heading: string): string {
  return heading.replace(/(?<=[A-Z])\n|\n(?=[A-Z])/g, ' ').replaceAll('\n', '');
}
