import type { StrategyName } from '../strategies/strategy.js';
import type { Cell, Mismatch } from './cell.js';
import type { FaultName, FaultOutcome } from './fault.js';
import type { LoadResult } from './load-result.js';
import type { PartName, PartResult } from './parts/part.js';

export type { Language } from '../options/names.mjs';

/** All texts of the arena for its readers, after its options are known. */
export interface Texts {
  privateRedis(port: number): string;
  foreignRedis(prefix: string): string;
  pageAt(url: string): string;
  cannotRecord(reason: string): string;
  redisUnreachable(reason: string): string;
  privateDatabase(port: number): string;
  foreignDatabase(schema: string): string;
  databaseUnreachable(reason: string): string;
  /** The cell in play. */
  cell(cell: Cell): string;
  duelVerdict(result: LoadResult): string;

  loadTitle(stock: number, buyers: number): string;
  readonly loadColumns: readonly [
    strategy: string,
    sold: string,
    oversold: string,
    undersold: string,
    ledger: string,
    refused: string,
    ordersPerSecond: string,
    p50: string,
    p99: string,
    verdict: string,
  ];
  /** The headline of the rows for this number of processes. */
  processes(number: number): string;
  /** A sentence of at most 19 columns, the rest of an 80-column line. */
  verdict(result: LoadResult): string;
  readonly loadNotes: string;
  readonly costTitle: string;
  /** Headings for a number of processes: commands, and overtaken pairs in percent. */
  readonly costColumns: ReadonlyArray<(processes: number) => string>;
  readonly costNotes: string;
  readonly strategyTitle: string;
  /** Each stage in at most 64 columns. */
  readonly strategies: Readonly<Record<StrategyName, string>>;

  readonly faultTitle: string;
  readonly faultColumn: string;
  /** Headings, broken into lines. */
  readonly faults: Readonly<Record<FaultName, string>>;
  readonly outcomes: Readonly<Record<FaultOutcome, string>>;
  readonly faultNotes: string;

  readonly partTitle: string;
  readonly partColumns: readonly [
    part: string,
    lock: string,
    withoutLock: string,
    withLock: string,
  ];
  readonly partLocks: Readonly<Record<PartName, string>>;
  /** The counts in at most 26 columns. */
  partFigures(result: PartResult): string;
  readonly partNotes: string;

  checkPassed(compared: number, measured: number, seconds: string): string;
  checkFailed(mismatches: number, seconds: string): string;
  mismatch(mismatch: Mismatch): string;

  /** The meaning of the tutorial's log lines. */
  readonly tutorialLines: string;
  lesson(number: number, title: string, chapter: string | undefined): string;
  /** The flaw of a lesson, or the reason why it withstands the faults. */
  flaw(isHarm: boolean, cell: Cell, why: string): string;
  serving(banner: ServingBanner): string;
  portTaken(port: number): string;
  replaced(pid: number): string;
  readonly stopping: string;
}

export interface ServingBanner {
  readonly url: string;
  readonly pids: readonly number[];
  readonly product: { readonly id: string; readonly stock: number };
  readonly curls: readonly string[];
}
