import type { InBoth } from '../words.js';

export interface LessonWords {
  /** The name of the lessons in the contents, and of the list of their numbers. */
  readonly lessons: string;
  readonly place: (number: number, all: number) => string;
  readonly chapter: (chapter: string | undefined) => string;
  readonly quoted: (chapter: string) => string;
  readonly code: string;
  readonly sale: string;
  readonly difference: string;
  readonly fail: string;
  readonly hold: string;
  readonly pause: string;
  readonly step: string;
  readonly events: string;
  readonly two: string;
  readonly price: string;
  readonly idle: string;
  readonly question: string;
  readonly next: string;
  readonly toMatrix: string;
  readonly again: string;
  readonly toShop: string;
  readonly toPlayground: string;
  readonly loading: string;
  readonly missing: string;
}

export const lessonWords: InBoth<LessonWords> = {
  en: {
    lessons: 'Lessons',
    place: (number, all) => `Lesson ${number} of ${all}`,
    chapter: (chapter) =>
      chapter === undefined ? 'Beyond the tutorial' : `Chapter ${chapter} of the tutorial`,
    quoted: (chapter) => `Tutorial, ${chapter}`,
    code: 'The code of this lesson',
    sale: 'The code of the sale',
    difference: '− lesson before, + this lesson',
    fail: 'Make it fail',
    hold: 'See it hold',
    pause: 'Pause',
    step: 'Next event',
    events: 'Events',
    two: 'Two buyers of a recorded rush of 30.',
    price: 'A recorded run: two processes set one price.',
    idle: 'A recorded run, one event at a time.',
    question: 'Question',
    next: 'Next: mend it',
    toMatrix: 'All strategies, all faults: the matrix',
    again: 'From the beginning',
    toShop: 'Break the shop yourself',
    toPlayground: 'Try each way in the playground',
    loading: 'The recording is loading.',
    missing: 'The recording cannot be read.',
  },
  zh: {
    lessons: '课程',
    place: (number, all) => `第 ${number} 课，共 ${all} 课`,
    chapter: (chapter) => (chapter === undefined ? '教程之外' : `教程 ${chapter}`),
    quoted: (chapter) => `小泽《如何做一个秒杀接口方案》${chapter} 原文`,
    code: '这一课的代码',
    sale: '扣库存的代码',
    difference: '− 上一课，+ 这一课',
    fail: '让它失败',
    hold: '看它守住',
    pause: '暂停',
    step: '下一个事件',
    events: '事件',
    two: '取自一次 30 人抢购的录像，只看其中两个买家。',
    price: '这是一段录像：两个进程修改同一个价格。',
    idle: '这是一段录像，逐个事件慢放。',
    question: '思考',
    next: '下一步：修好它',
    toMatrix: '全部策略与故障：矩阵',
    again: '从头再来',
    toShop: '亲手弄坏它',
    toPlayground: '到实验台逐个试',
    loading: '正在加载录像。',
    missing: '无法读取录像。',
  },
};
