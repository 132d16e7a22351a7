import { timingSafeEqual } from 'node:crypto';
import { ForbiddenException, Inject, Injectable, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';

export const TOKEN = Symbol('Token');
/** The header of commands; an EventSource sends none, so it has the token in its address. */
const TOKEN_HEADER = 'x-arena-token';
const OURS = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/**
 * Lets in who knows the token of the printed address. A page of another site can make a browser send
 * requests here, also under a name that leads to this machine; it knows neither the token nor our name.
 */
@Injectable()
export class VisitorGuard implements CanActivate {
  constructor(@Inject(TOKEN) private readonly token: string) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers, query } = context
      .switchToHttp()
      .getRequest<IncomingMessage & { readonly query: Record<string, unknown> }>();
    if (!OURS.test(headers.host ?? '')) throw new ForbiddenException('open 127.0.0.1 instead');
    const given = headers[TOKEN_HEADER] ?? query['token'];
    if (typeof given === 'string' && isSame(given, this.token)) return true;
    throw new UnauthorizedException('use the address that the terminal shows: it has the token');
  }
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
