import { Module, StandardSchemaValidationPipe } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import type { Steps } from '../arena/steps.js';
import { COMMANDS, PageController, STEPS } from './page.controller.js';
import type { CarryOut } from './page.controller.js';
import { TOKEN } from './visitor.guard.js';

export interface WebOptions {
  readonly steps: Steps;
  readonly token: string;
  readonly carryOut: CarryOut;
}

@Module({})
export class WebModule {
  static register({ steps, token, carryOut }: WebOptions): DynamicModule {
    return {
      module: WebModule,
      controllers: [PageController],
      providers: [
        { provide: STEPS, useValue: steps },
        { provide: TOKEN, useValue: token },
        { provide: COMMANDS, useValue: carryOut },
        { provide: APP_PIPE, useClass: StandardSchemaValidationPipe },
      ],
    };
  }
}
