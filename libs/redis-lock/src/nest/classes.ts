import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

type Place = 'controllers' | 'providers' | 'injectables';

/** The classes that all modules of an application have in these places. */
export function classesOf(modules: ModulesContainer, ...places: readonly Place[]): Type[] {
  return [...modules.values()]
    .flatMap((module) => places.flatMap((place) => [...module[place].values()]))
    .map(({ metatype }): unknown => metatype)
    .filter(isClass);
}

/** Nest stores factories in the same place. */
function isClass(metatype: unknown): metatype is Type {
  return (
    typeof metatype === 'function' &&
    typeof metatype.prototype === 'object' &&
    metatype.prototype !== null
  );
}
