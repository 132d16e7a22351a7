import { LESSONS } from '../lessons/lessons.js';
import type { Lesson } from '../lessons/lessons.js';
import { Observable } from './observable.js';

export const addressOf = {
  part: (part: string): string => `#/${part}`,
  cell: (cell: string): string => `#/cell/${cell}`,
  lesson: (number: number): string => `#/lesson/${number}`,
};

/**
 * The visitor's choice. The fragment of the page's address names it, so that a link and the back
 * button lead there. Without a cell, the page follows the run.
 */
class Selection extends Observable {
  #visits = 0;

  constructor() {
    super();
    addEventListener('hashchange', this.#visited);
    addEventListener('click', (event) => {
      const link = event.composedPath().find((target) => target instanceof HTMLAnchorElement);
      // The browser reports no visit to the present address.
      if (link?.href === location.href) this.#visited();
    });
  }

  /** Grows with each visit of an address, even of the same one: the visitor may have scrolled away. */
  get visits(): number {
    return this.#visits;
  }

  get part(): string | undefined {
    return /^#\/(\w+)$/.exec(location.hash)?.[1];
  }

  get cell(): string | undefined {
    return /^#\/cell\/(.+)$/.exec(location.hash)?.[1];
  }

  get lesson(): Lesson | undefined {
    const number = /^#\/lesson\/(\d+)$/.exec(location.hash)?.[1];
    return LESSONS.find((lesson) => String(lesson.number) === number);
  }

  /** Its address has the experiment, too. */
  get isPlayground(): boolean {
    return /^#\/playground(\?|$)/.test(location.hash);
  }

  choose(cell: string | undefined): void {
    const address = cell === undefined ? addressOf.part('replay') : addressOf.cell(cell);
    if (address !== location.hash) history.pushState(null, '', address);
    this.#visited();
  }

  readonly #visited = (): void => {
    this.#visits += 1;
    this.changed();
  };
}

export const selection = new Selection();
