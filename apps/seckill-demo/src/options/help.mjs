// Read before anything is installed or built: Node built-ins and files like this one only.
import { FAULT_NAMES, PART_NAMES, SHOP_LOG_LEVELS, STRATEGY_NAMES } from './names.mjs';

/** @typedef {import('./names.mjs').Language} Language */

/**
 * The help, and the errors for wrong options.
 * @typedef {object} OptionTexts
 * @property {(given: string) => string} unknownOption
 * @property {(option: string, value: string, allowed: string) => string} badValue
 * @property {(option: string) => string} takesNoValue
 * @property {(option: string) => string} needsFile
 * @property {(option: string) => string} notWithTutorial
 * @property {string} checkNeedsARush
 * @property {string} help
 */

const INDENT = ' '.repeat(20);
const WIDTH = 80;

/**
 * The names after an introduction, in the second column of the help.
 * @param {string} introduction
 * @param {readonly string[]} names
 */
function listed(introduction, names) {
  const lines = [];
  let line = introduction;
  for (const [index, name] of names.entries()) {
    const word = index < names.length - 1 ? `${name},` : name;
    const longer = index === 0 ? `${line}${word}` : `${line} ${word}`;
    const fits = INDENT.length + columnsOf(longer) <= WIDTH;
    if (!fits) lines.push(line);
    line = fits ? longer : word;
  }
  return [...lines, line].join(`\n${INDENT}`);
}

/**
 * Chinese characters and punctuation take two columns of a terminal.
 * @param {string} text
 */
export function columnsOf(text) {
  return text.replace(/[\u3000-\u9fff\uff00-\uffef]/g, '##').length;
}

/** @type {OptionTexts} */
const english = {
  unknownOption: (given) => `unknown option ${given}; --help lists the options`,
  badValue: (option, value, allowed) => `${option} cannot be "${value}"; allowed: ${allowed}`,
  takesNoValue: (option) => `${option} takes no value`,
  needsFile: (option) => `${option} needs the name of a file`,
  notWithTutorial: (option) => `--tutorial is always the same; leave ${option} out`,
  checkNeedsARush:
    '--check needs --stock of at least 2, and more --buyers than --stock: otherwise nothing can oversell',
  help: `npm run demo [-- options]

Sells one product in ${STRATEGY_NAMES.length} ways, from no lock to this library, and shows how each
simpler way fails. Then shows the other locks, and serves until Ctrl-C.

  --stock N         pieces in stock (100)
  --buyers N        buyers who order at the same moment (300)
  --instances N     processes of the second measurement, and of the server (2)
  --strategies A,B  ${listed('only these stages, or "none": ', STRATEGY_NAMES)}
  --faults A,B      ${listed('only these faults, or "none": ', FAULT_NAMES)}
  --parts A,B       ${listed('only these other parts of the sale, or "none": ', PART_NAMES)}
  --check           compares the results with the expected matrix, serves
                    nothing, and exits with 0 or 1
  --tutorial        eight lessons on the tutorial's sale (stock 10, 11 buyers):
                    chapter, changed line, log and flaw of each
  --json            prints the measurements as JSON instead of tables, serves
                    nothing. npm prints its own lines first, -s hides them:
                    npm run -s demo -- --json
  --record FILE     writes the steps of the run to a file, as NDJSON
  --no-web          no page, only the terminal
  --no-open         does not open the browser
  --lang en|zh      language (from LC_ALL or LANG)

REDIS_URL          a Redis to use instead of a private one; its keys get a
                   random prefix, and are removed at the end
DATABASE_URL       a Postgres to use instead of a private one; its tables get a
                   schema with a random name, which is removed at the end
PORT               the port to serve on (3000, or any free port)
SECKILL_LOG_LEVEL  what the serving processes log: ${SHOP_LOG_LEVELS.join(', ')}
                   (warn); debug shows every lock`,
};

/** @type {OptionTexts} */
const chinese = {
  unknownOption: (given) => `未知选项 ${given}；用 --help 查看全部选项`,
  badValue: (option, value, allowed) => `${option} 不能是 "${value}"；可取：${allowed}`,
  takesNoValue: (option) => `${option} 不带值`,
  needsFile: (option) => `${option} 需要一个文件名`,
  notWithTutorial: (option) => `--tutorial 的内容是固定的，请去掉 ${option}`,
  checkNeedsARush: '--check 要求 --stock 至少为 2，且 --buyers 大于库存：否则不可能超卖',
  help: `npm run demo [-- 选项]

用 ${STRATEGY_NAMES.length} 种方式售卖同一件商品，从不加锁到使用本库，演示每一种简化做法如何出错；
再演示其他几种锁的用途。最后持续提供服务，直到按下 Ctrl-C。

  --stock N         库存（100）
  --buyers N        同时下单的人数（300）
  --instances N     第二轮测量与最后提供服务的进程数（2）
  --strategies A,B  ${listed('只运行这些策略，或 none：', STRATEGY_NAMES)}
  --faults A,B      ${listed('只运行这些故障，或 none：', FAULT_NAMES)}
  --parts A,B       ${listed('只运行秒杀的这些其他环节，或 none：', PART_NAMES)}
  --check           与预期矩阵逐格比较，不提供服务，退出码 0 或 1
  --tutorial        教程同款的八课：库存 10，11 人抢购，单进程；每课列出章节、
                    改动的代码、与教程一致的日志，以及漏洞
  --json            以 JSON 输出测量结果，不提供服务。npm 会先输出自己的几行，
                    加 -s 即可去掉：npm run -s demo -- --json
  --record FILE     把运行的每一步写入文件，格式为 NDJSON
  --no-web          不提供网页，只用终端
  --no-open         不打开浏览器
  --lang en|zh      语言（默认取自 LC_ALL 或 LANG）

REDIS_URL          使用这个 Redis，键放在随机前缀下，结束时只删除这些键
DATABASE_URL       使用这个 Postgres，表放在随机命名的模式里，结束时只删除该模式
PORT               服务端口（3000，被占用时改用其他端口）
SECKILL_LOG_LEVEL  服务进程的日志级别：${SHOP_LOG_LEVELS.join('、')}（warn）；
                   debug 会打印每一次加锁与释放锁`,
};

/** @type {Readonly<Record<Language, OptionTexts>>} */
export const optionTexts = { en: english, zh: chinese };
