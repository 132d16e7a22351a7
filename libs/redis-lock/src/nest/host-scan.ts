import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';

import { provideHosts } from './lock-host.js';

/**
 * Nest injects no properties into the objects of `useFactory` and `useValue`. This finds them when
 * all are made, and before their own `onModuleInit`.
 */
@Injectable()
export class HostScan implements OnModuleInit {
  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(ModuleRef) private readonly application: ModuleRef,
  ) {}

  onModuleInit(): void {
    for (const { providers } of this.modules.values()) {
      for (const { isNotMetatype, instance } of providers.values()) {
        if (isNotMetatype && isObject(instance)) this.#provide(instance);
      }
    }
  }

  #provide(instance: object): void {
    provideHosts(instance, (token) => this.application.get<unknown>(token, { strict: false }));
  }
}

function isObject(instance: unknown): instance is object {
  return typeof instance === 'object' && instance !== null;
}
