import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as elapse } from 'node:timers/promises';
import {
  Body,
  ConflictException,
  Controller,
  Get,
  Header,
  Headers,
  HttpCode,
  Inject,
  Post,
  Res,
  Sse,
  SseSignal,
  UseGuards,
} from '@nestjs/common';
import type { MessageEvent } from '@nestjs/common';
import { from } from 'rxjs';
import type { Observable } from 'rxjs';
import { RefusedError } from '../arena/refused-error.js';
import type { Command } from '../arena/step.js';
import type { Steps } from '../arena/steps.js';
import { pageHtml } from '../page/page-html.js';
import { CommandBody } from './command.schema.js';
import { VisitorGuard } from './visitor.guard.js';

export const STEPS = Symbol('Steps');
export const COMMANDS = Symbol('Commands');

/** Carries out a command. Rejects with a RefusedError if that is not possible. */
export type CarryOut = (command: Command) => Promise<object>;

/** Steps within this time are sent together. */
const BATCH_MS = 50;

@Controller()
export class PageController {
  constructor(
    @Inject(STEPS) private readonly steps: Steps,
    @Inject(COMMANDS) private readonly carryOut: CarryOut,
  ) {}

  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return pageHtml();
  }

  /** All steps from the first one, or from the end of a cut connection. */
  @Sse('steps')
  @UseGuards(VisitorGuard)
  watch(
    @Headers('last-event-id') lastId: string | undefined,
    @SseSignal() signal: AbortSignal,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Observable<MessageEvent> {
    const read = /^\d{1,12}$/.test(lastId ?? '') ? Number(lastId) : 0;
    return from(this.#batches(read, signal, response));
  }

  @Post('commands')
  @HttpCode(200)
  @UseGuards(VisitorGuard)
  async command(@Body({ schema: CommandBody }) command: Command): Promise<object> {
    try {
      return await this.carryOut(command);
    } catch (error) {
      if (error instanceof RefusedError) {
        const { message, reason } = error;
        throw new ConflictException({ message, reason });
      }
      throw error;
    }
  }

  async *#batches(
    read: number,
    signal: AbortSignal,
    response: ServerResponse,
  ): AsyncGenerator<MessageEvent> {
    for await (const batch of this.steps.batches(read, signal)) {
      yield { id: `${batch.read}`, data: batch.steps };
      await elapse(BATCH_MS, undefined, { signal }).catch(() => undefined);
      // Unread messages to a visitor would pile up in the memory of the arena.
      if (response.writableNeedDrain) {
        await once(response, 'drain', { signal }).catch(() => undefined);
      }
    }
  }
}
