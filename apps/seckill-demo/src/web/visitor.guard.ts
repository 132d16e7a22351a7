import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';

export const TOKEN = Symbol('Token');
/** The header of commands. An EventSource sends no header, so its address contains the token. */
const TOKEN_HEADER = 'x-arena-token';

type Asked = IncomingMessage & { readonly query: Readonly<Record<string, unknown>> };

/** Lets in requests with the token of the printed address. Pages of other sites do not have it. */
@Injectable()
export class VisitorGuard implements CanActivate {
  constructor(@Inject(TOKEN) private readonly token: string) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers, query } = context.switchToHttp().getRequest<Asked>();
    const given = headers[TOKEN_HEADER] ?? query['token'];
    if (typeof given === 'string' && isSame(given, this.token)) return true;
    throw new UnauthorizedException('use the address from the terminal: it contains the token');
  }
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
