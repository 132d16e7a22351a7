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
  constructor() {
    super();
    addEventListener('hashchange', () => {
      this.changed();
    });
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

  choose(cell: string | undefined): void {
    location.hash = cell === undefined ? addressOf.part('replay') : addressOf.cell(cell);
  }
}

export const selection = new Selection();
