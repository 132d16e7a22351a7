import type { ConnectionState } from '../sources/connection.js';
import type { InBoth } from '../words.js';

export interface PageWords {
  readonly headline: (buyers: number, pieces: number) => string;
  readonly lead: string;
  readonly recordedLead: string;
  readonly connection: Readonly<Record<ConnectionState, string>>;
  readonly otherLanguage: string;
  readonly dark: string;
  readonly light: string;
  readonly parts: Readonly<Record<PagePart, string>>;
  readonly player: Readonly<Record<'name' | 'play' | 'pause' | 'speed' | 'position', string>>;
  readonly contents: string;
  readonly progress: (done: number, all: number) => string;
  readonly playing: (cell: string) => string;
  readonly allPlayed: string;
  readonly toMatrix: (duelIsOver: boolean) => string;
  readonly toLessons: string;
  readonly arena: string;
  readonly playground: string;
  readonly loading: string;
  readonly failed: string;
  readonly again: string;
}

export type PagePart = 'duel' | 'matrix' | 'replay' | 'live' | 'hands' | 'locks';

export const pageWords: InBoth<PageWords> = {
  en: {
    headline: (buyers, pieces) => `${buyers} buyers want ${pieces} pieces.`,
    lead: 'The same flash sale twice, live on this machine: several processes, one stock.',
    recordedLead: 'The same flash sale twice, as a recording: several processes, one stock.',
    connection: {
      connecting: 'connecting …',
      live: 'live',
      broken: 'connection lost, reconnecting …',
      closed: 'the arena has ended',
      'no-token': 'the address has no token',
      recorded: 'recorded run',
      missing: 'the recording cannot be read',
    },
    otherLanguage: '中文',
    dark: 'Dark',
    light: 'Light',
    parts: {
      duel: 'Duel',
      matrix: 'Matrix',
      replay: 'Timeline',
      live: 'Live',
      hands: 'Hands on',
      locks: 'Other locks',
    },
    player: {
      name: 'Recorded run',
      play: 'Play',
      pause: 'Pause',
      speed: 'Speed',
      position: 'Position in the run',
    },
    arena: 'Flash sale arena',
    playground: 'Playground',
    loading: 'The playground is loading …',
    failed: 'The playground cannot be loaded. Is the page still served?',
    again: 'Try again',
    contents: 'On this page',
    progress: (done, all) => `${done} of ${all} cells`,
    playing: (cell) => `now ${cell}`,
    allPlayed: 'the run is over',
    toMatrix: (duelIsOver) =>
      duelIsOver ? 'The duel is over. Down to the matrix ↓' : 'Down to the matrix ↓',
    toLessons: 'Learn it in eight lessons →',
  },
  zh: {
    headline: (buyers, pieces) => `${buyers}\u00a0人抢 ${pieces}\u00a0件，谁能买到？`,
    lead: '同一场秒杀运行两次，在这台机器上实时进行：多个进程，一份库存。',
    recordedLead: '同一场秒杀运行两次的录像：多个进程，一份库存。',
    connection: {
      connecting: '正在连接……',
      live: '实时',
      broken: '连接断开，正在重连……',
      closed: '演示已经结束',
      'no-token': '网址中没有令牌',
      recorded: '录像',
      missing: '无法读取录像',
    },
    otherLanguage: 'English',
    dark: '深色',
    light: '浅色',
    parts: {
      duel: '对决',
      matrix: '矩阵',
      replay: '时间线',
      live: '实况',
      hands: '动手',
      locks: '其他锁',
    },
    player: { name: '录像', play: '播放', pause: '暂停', speed: '速度', position: '播放位置' },
    arena: '秒杀擂台',
    playground: '实验台',
    loading: '正在加载实验台……',
    failed: '实验台加载失败，页面服务还在运行吗？',
    again: '重试',
    contents: '本页内容',
    progress: (done, all) => `${done} / ${all} 格`,
    playing: (cell) => `正在运行 ${cell}`,
    allPlayed: '运行完毕',
    toMatrix: (duelIsOver) => (duelIsOver ? '对决结束，往下看矩阵 ↓' : '往下看矩阵 ↓'),
    toLessons: '八课学会 →',
  },
};
