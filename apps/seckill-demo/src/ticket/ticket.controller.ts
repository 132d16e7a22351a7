import { Body, Controller, HttpException, HttpStatus, Post, Query, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { TicketBody, TicketQuery } from './ticket.schemas.js';
import { TicketService } from './ticket.service.js';

@Controller('api/tickets')
export class TicketController {
  constructor(private readonly tickets: TicketService) {}

  @Post()
  async take(
    @Query({ schema: TicketQuery }) { strategy }: TicketQuery,
    @Body({ schema: TicketBody }) { visitor }: TicketBody,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<{ readonly visitor: string }> {
    const outcome =
      strategy === 'shared'
        ? await this.tickets.take(visitor)
        : await this.tickets.takeHere(visitor);
    if (outcome.kind === 'let-in') return { visitor };
    response.setHeader('Retry-After', outcome.retryAfterSeconds);
    throw new HttpException('too many attempts', HttpStatus.TOO_MANY_REQUESTS);
  }
}
