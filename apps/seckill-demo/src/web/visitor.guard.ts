import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';

export const TOKEN = Symbol('Token');
/** The header of commands; an EventSource sends none, so it has the token in its address. */
const TOKEN_HEADER = 'x-arena-token';

type Asked = IncomingMessage & { readonly query: Readonly<Record<string, unknown>> };

/** Lets in who knows the token of the printed address. A page of another site does not. */
@Injectable()
export class VisitorGuard implements CanActivate {
  constructor(@Inject(TOKEN) private readonly token: string) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers, query } = context.switchToHttp().getRequest<Asked>();
    const given = headers[TOKEN_HEADER] ?? query['token'];
    if (typeof given === 'string' && isSame(given, this.token)) return true;
    throw new UnauthorizedException('use the address that the terminal shows: it has the token');
  }
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
