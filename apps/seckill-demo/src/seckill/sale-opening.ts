import { HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { LatchService } from 'nestjs-redis-lock';
import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';
import { GATE } from './gate.js';
import type { Gate } from './gate.js';

const LATCH = 'sale_opening';
/** RFC 8470; Nest has no name for it. */
const TOO_EARLY = 425;

/**
 * The sale opens when every process is ready. Each process counts a latch down once, and orders
 * wait for it. A process that replaces a dead one does not wait for an opening.
 */
@Injectable()
export class SaleOpening implements OnApplicationBootstrap {
  readonly #logger = new Logger('SaleOpening');
  #isOpen: boolean;

  constructor(
    private readonly latches: LatchService,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(GATE) private readonly gate: Gate,
  ) {
    this.#isOpen = settings.processes === undefined;
  }

  /** Sets the count before the first order: a latch without a count is open. */
  async onApplicationBootstrap(): Promise<void> {
    const { processes } = this.settings;
    if (processes === undefined) return;
    await this.latches.get(LATCH).trySetCount(processes);
    this.#getReady().catch((error: unknown) => {
      this.#logger.error(error);
    });
  }

  /** Resolves when the sale is open. Rejects if that takes longer than buyers wait. */
  async opened(): Promise<void> {
    const { waitTimeMs } = this.settings;
    this.#isOpen ||= await this.latches.get(LATCH).wait({ waitTimeMs });
    if (!this.#isOpen) throw new HttpException('the sale is not open yet', TOO_EARLY);
  }

  /** A real shop fills its caches here. Meanwhile it answers, but sells nothing. */
  async #getReady(): Promise<void> {
    await this.gate.reach('warm-up');
    await this.latches.get(LATCH).countDown();
  }
}
