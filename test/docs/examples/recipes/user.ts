import {
  Controller,
  createParamDecorator,
  Injectable,
  Post,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

interface User {
  id: string;
}
interface Request {
  headers: { authorization?: string };
  user?: User | undefined;
}
const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<Request>();

export abstract class Sessions {
  abstract userOf(authorization?: string): Promise<User | undefined>;
}

@Injectable()
export class LoginGuard implements CanActivate {
  constructor(private readonly sessions: Sessions) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    request.user = await this.sessions.userOf(request.headers.authorization);
    return request.user !== undefined;
  }
}

export const CurrentUser = createParamDecorator(
  (_: unknown, context: ExecutionContext) => requestOf(context).user,
);

@Controller('cart')
@UseGuards(LoginGuard)
export class CartController {
  @Post('orders')
  @WithLock('cart_<user.id>')
  async order(@LockKey('user') @CurrentUser() user: User): Promise<string> {
    return `the cart of ${user.id} is ordered`;
  }
}
