import type { Language } from '../options/names.mjs';

export interface LessonText {
  readonly title: string;
  /** The content of the tutorial's chapter. */
  readonly says: string;
  /** A passage of the tutorial in its own words, and its chapter. It is Chinese. */
  readonly quote?: readonly [passage: string, chapter: string];
  /** The names of the links to the other cells. */
  readonly asides?: readonly string[];
  readonly question: string;
  readonly answer: string;
}

const english: readonly LessonText[] = [
  {
    title: 'Read, subtract one, write: no lock',
    says: 'The tutorial reads the stock, subtracts one and writes the result. One request alone is correct. Two requests at once read the same stock, and both sell the same piece.',
    question: 'Is one process enough to prevent it?',
    answer:
      'No. Node serves other requests while one request waits for its read or write. This recording has one process, and it oversells.',
  },
  {
    title: 'synchronized: a mutex in one process',
    says: 'The tutorial wraps the sale in synchronized. Node has no such keyword, so the demo uses a mutex in memory. One process now sells correctly. A second process has a mutex of its own.',
    question: 'Both processes run the same code. Do they share the mutex?',
    answer:
      'No. A mutex is an object in memory, and each process has its own memory. The lock must be in a place that all processes share.',
  },
  {
    title: 'SETNX: one key for all processes',
    says: 'SETNX writes a key only if the key does not exist. The buyer that writes it is the holder, and all others leave at once. The holder deletes the key in finally.',
    question: 'Does finally run in every case?',
    answer:
      'No. A killed process runs no finally, so its key stays. No buyer can buy again until an operator deletes the key.',
  },
  {
    title: 'SET NX PX: a key that expires',
    says: 'The tutorial first adds EXPIRE after SETNX. A process that dies between the two leaves a key that never expires. One SET command with NX and PX closes this gap.',
    asides: ['Replay the kill between SETNX and EXPIRE'],
    question: 'The work takes 12 s, and the lease 10 s. Does DEL delete the own lock?',
    answer:
      'No. The own key expired after 10 s, and the next buyer wrote a new one. DEL does not check the owner.',
  },
  {
    title: 'A UUID: release your own lock only',
    says: 'The holder writes a UUID as the value of the key. It reads the key before the DEL and compares. It deletes the key only if the value is its own.',
    question: 'GET returns the own UUID. Is the next DEL safe?',
    answer:
      'No. GET and DEL are two commands. The lease can expire between them, and then the lock belongs to the next buyer.',
  },
  {
    title: 'Lua: check and delete in one script',
    says: 'Redis runs no other command during a script. The script compares the value and deletes the key in one step. A late holder cannot delete the lock of another buyer any more.',
    question: 'Does a lease of 60 s mend it?',
    answer:
      'It makes the failure rare. A pause may still be longer. If the holder dies, all buyers wait for 60 s.',
  },
  {
    title: 'Redisson: wait, renew, check',
    says: "Redisson's lock() waits, and a watchdog renews the lease. @WithLock does the same, and assertHeld() checks the lease right before the write.",
    asides: ['Replay work that is longer than the lease', 'Replay a freeze before the check'],
    question:
      'A process freezes after assertHeld(), and before the write. Can the lock stop the write?',
    answer:
      'No. The process continues behind the check. Only the database can refuse this write: the next lesson adds the fence.',
  },
  {
    title: 'Fencing: the database refuses a late write',
    says: 'The tutorial ends with Redisson. This lesson goes one step further. Each holder gets a higher token than all holders before. The database keeps the highest token, and refuses a write with a lower one.',
    asides: ['Replay the price of lesson 7 with the fence'],
    question: 'Does every lock need a fence?',
    answer:
      'No. Without a fence, a frozen process may overwrite newer data. Add it where that is expensive, and where the database can compare the token.',
  },
];

const chinese: readonly LessonText[] = [
  {
    title: '读、减一、写回：不加锁',
    says: '教程先读库存，减一，再写回。单个请求这样做没有问题；两个请求同时读到同一个数，同一件商品就会卖出两次。',
    quote: ['同时拿到 redis 中的缓存数量', '1.4'],
    question: '只用一个进程，能避免超卖吗？',
    answer: '不能。一个请求等待读写时，Node 会处理其他请求。这段录像只有一个进程，照样超卖。',
  },
  {
    title: 'synchronized：单个进程内的互斥锁',
    says: '教程用 synchronized 包住扣库存的代码。Node 没有这个关键字，这里改用内存中的互斥锁。单个进程不再超卖，但第二个进程有它自己的互斥锁。',
    quote: ['对于集群来说，synchronized 是没用的', '2.1'],
    question: '两个进程运行同样的代码，它们共用一把互斥锁吗？',
    answer:
      '不共用。互斥锁是内存中的对象，而每个进程有自己的内存。锁必须放在所有进程都能访问的地方。',
  },
  {
    title: 'SETNX：所有进程共用一个键',
    says: '只有键不存在时，SETNX 才会写入。写入成功的买家就是持有者，其余买家立即返回。持有者在 finally 中删除这个键。',
    quote: ['服务挂了，那肯定也走不到 finally', '3.4'],
    question: 'finally 一定会执行吗？',
    answer: '不一定。被杀死的进程不会执行 finally，键就一直留着。除非手动删除，否则谁也买不到。',
  },
  {
    title: 'SET NX PX：会过期的键',
    says: '教程先在 SETNX 之后加了一条 EXPIRE。进程如果恰好在两条命令之间被杀，键仍然永不过期。改用一条带 NX 与 PX 的 SET，就没有这个空隙了。',
    quote: ['保证这两行代码原子性', '3.4'],
    asides: ['回放：在 SETNX 与 EXPIRE 之间被杀'],
    question: '业务耗时 12 秒，租期 10 秒。最后的 DEL 删除的还是自己的锁吗？',
    answer: '不是。自己的键 10 秒后已经过期，下一个买家写入了新的键。DEL 不检查键属于谁。',
  },
  {
    title: 'UUID：只释放自己的锁',
    says: '持有者把 UUID 写进键里。执行 DEL 之前先 GET 一次，值是自己的才删除。',
    quote: ['在释放锁的时候只能释放自己的锁，不能释放别人的锁', '3.4'],
    question: 'GET 返回的是自己的 UUID，接下来的 DEL 就安全吗？',
    answer: '不安全。GET 与 DEL 是两条命令，租约可能恰好在两者之间过期，锁已经属于下一个买家。',
  },
  {
    title: 'Lua：校验与删除合为一步',
    says: 'Redis 执行脚本期间不会执行其他命令。脚本把比较与删除合为一步，迟到的持有者再也删不掉别人的锁。',
    quote: ['如果说我的业务 10 秒没执行完，那此时锁就会过期', '3.6'],
    question: '把租期延长到 60 秒，问题解决了吗？',
    answer: '只是更少出现：停顿仍可能超过 60 秒。而持有者一旦崩溃，所有买家都要等 60 秒。',
  },
  {
    title: 'Redisson：等待、续期、写前确认',
    says: 'Redisson 的 lock() 会等待锁，业务执行期间由看门狗续期。@WithLock 也是如此，并且可以在写入之前用 assertHeld() 确认租约仍然有效。',
    quote: ['其实这个问题就是锁续命的问题', '3.6'],
    asides: ['回放：业务耗时超过租期', '回放：在检查之前冻结'],
    question: '进程在 assertHeld() 之后、写入之前冻结，锁还能拦住这次写入吗？',
    answer: '不能。进程恢复后，从检查之后继续执行。只有数据库能拒绝这次写入：下一课加上围栏。',
  },
  {
    title: '围栏：数据库拒绝迟到的写入',
    says: '教程到 Redisson 为止，这一课再往前一步。每个持有者得到一个令牌，比之前所有持有者的都大。数据库记住最大的令牌，拒绝令牌更小的写入。',
    asides: ['回放：第 7 课的价格，加上围栏'],
    question: '每一把锁都需要围栏吗？',
    answer:
      '不需要。没有围栏时，冻结过的进程可能覆盖更新的数据。这样的覆盖代价很高、数据库又能比较令牌时，再加围栏。',
  },
];

const lessonTexts: Readonly<Record<Language, readonly LessonText[]>> = {
  en: english,
  zh: chinese,
};

export function lessonText(number: number, language: Language): LessonText {
  const text = lessonTexts[language][number - 1];
  if (text === undefined) throw new RangeError(`There is no lesson ${number}`);
  return text;
}
