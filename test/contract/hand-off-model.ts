import type { Claim } from '../../libs/redis-lock/src/core/holding/protocol.js';

export type Terms = Claim;

interface Place {
  readonly process: string;
  readonly number: string;
  readonly since: number;
  readonly aliveUntil: number;
  readonly terms: Terms;
}

/** A window of outsiders, which ends after so many sections. `unused`: so many were not used. */
interface Opening {
  readonly until: number;
  readonly sections: number;
  readonly unused: number;
}

export interface OutsiderWindow {
  readonly longestMs: number;
  readonly ttlMs: number;
}

/** A lock, and the queue before it; owners are written as `B2`, the second caller of the process B. */
export class HandOffModel {
  lock: { owner: string; count: number; endsAt: number } | undefined;
  /** The last window of outsiders. */
  opened: (Opening & { readonly endsAt: number }) | undefined;
  hasOutsiders = true;
  readonly messages: string[] = [];
  #queue: Place[] = [];
  #queueEndsAt = 0;
  #granted: string[] = [];
  #now = 0;
  #leftMs = 0;

  constructor(
    private readonly hearing: string,
    private readonly window: OutsiderWindow,
    private readonly freed: readonly string[],
  ) {}

  get queue(): readonly Place[] {
    return this.#queue;
  }

  get leaseMs(): number {
    return this.lock === undefined ? 0 : this.lock.endsAt - this.#now;
  }

  claimOf(process: string): Place | undefined {
    return this.#queue.find((place) => place.process === process);
  }

  /** The owners that got the lock since the last call. */
  takeGranted(): string[] {
    return this.#granted.splice(0);
  }

  jump(ms: number): void {
    this.#now += ms;
    if ((this.lock?.endsAt ?? 0) <= this.#now) this.lock = undefined;
    if ((this.opened?.endsAt ?? 0) <= this.#now) this.opened = undefined;
    if (this.#queueEndsAt <= this.#now) this.#queue = [];
  }

  claim(owner: string, leaseMs: number, terms: Terms): string {
    const isOurs = this.lock?.owner === owner;
    const isLeft = !isOurs && this.#isLeftToOutsiders();
    if (!isOurs && (this.lock !== undefined || isLeft)) {
      this.#stand(owner, terms);
      return 'busy';
    }
    this.#take(owner, Math.max(1, isOurs ? (this.lock?.count ?? 0) : 0), leaseMs);
    this.#drop(owner.charAt(0));
    return 'granted';
  }

  enter(owner: string, holdCount: number, leaseMs: number): string {
    if (this.lock?.owner !== owner) {
      if (holdCount > 1) return 'lost';
      if (this.lock !== undefined) return 'busy';
    }
    this.#take(owner, holdCount, leaseMs);
    return 'granted';
  }

  leave(owner: string, holdCount: number, due: number): string {
    if (this.lock?.owner !== owner) return 'absent';
    if (holdCount > 0) {
      this.lock.count = Math.min(this.lock.count, holdCount);
      return 'done';
    }
    return this.#free(owner, due);
  }

  passOn(owner: string, successor: string, leaseMs: number, starts: number): string {
    if (this.lock?.owner !== owner) return this.lock?.owner === successor ? 'had' : 'absent';
    this.#grant(successor, starts, leaseMs);
    return 'passed';
  }

  takeTurns(
    [owner, successor]: readonly [string, string],
    leaseMs: number,
    terms: Terms,
    due: number,
  ): string {
    if (this.lock?.owner !== owner) return this.lock?.owner === successor ? 'had' : 'absent';
    this.#let();
    const isOpened = this.#openWindow(due);
    if (isOpened || this.#handOver(owner.charAt(0))) {
      this.#stand(successor, terms);
      return isOpened ? 'opened' : 'done';
    }
    this.#grant(successor, 1, leaseMs);
    this.#tellShorter(leaseMs);
    return 'passed';
  }

  withdraw(owner: string, due: number): string {
    const process = owner.charAt(0);
    if (this.claimOf(process)?.number === owner.slice(1)) this.#drop(process);
    if (this.lock?.owner !== owner) return 'absent';
    return this.#free(owner, due);
  }

  renew(owner: string, leaseMs: number): boolean {
    if (this.lock?.owner !== owner) return false;
    this.#take(owner, this.lock.count, leaseMs);
    return true;
  }

  #take(owner: string, count: number, leaseMs: number): void {
    const endsAt = Math.max(this.lock?.endsAt ?? 0, this.#now + leaseMs);
    this.lock = { owner, count, endsAt };
    this.#granted.push(owner);
  }

  #grant(owner: string, count: number, leaseMs: number): void {
    this.lock = undefined;
    this.#take(owner, count, leaseMs);
  }

  /** The lock loses its owner: outsiders or the next waiter get it, or a message announces it to all. */
  #free(owner: string, due: number): string {
    this.#let();
    const process = owner.charAt(0);
    // Those of its process who came before it have had it.
    if (Number(this.claimOf(process)?.number) <= Number(owner.slice(1))) this.#drop(process);
    const [head] = this.#queue;
    if (this.#openWindow(due)) return 'opened';
    if (head === undefined || !this.#handOver('')) this.#announce();
    return 'done';
  }

  /** Nobody in the queue has stood back for the whole window yet. */
  #isLeftToOutsiders(): boolean {
    const { opened, lock } = this;
    if (opened === undefined || opened.until <= this.#now) return false;
    if (lock !== undefined && opened.unused > 0) this.#set({ ...opened, unused: 0 });
    return true;
  }

  #openWindow(due: number): boolean {
    if (!this.hasOutsiders) return false;
    const { opened } = this;
    this.#announce();
    if (opened !== undefined && opened.until > this.#now) this.#set(opened);
    else {
      const until = this.#now + this.window.longestMs;
      this.#set({ until, sections: due, unused: (opened?.unused ?? 0) + 1 });
    }
    return true;
  }

  #set({ until, sections, unused }: Opening): void {
    this.opened = { until, sections, unused, endsAt: this.#now + this.window.ttlMs };
  }

  #handOver(from: string): boolean {
    for (;;) {
      const next = this.#queue.shift();
      if (next === undefined) return false;
      const { process, number, terms } = next;
      if (process === from || next.aliveUntil < this.#now) continue;
      if (terms.mode !== 'poll') {
        if (!this.hearing.includes(process)) continue;
        this.messages.push(`${process}: ${number} ${terms.nonce}`);
      }
      this.#grant(process + number, terms.mode === 'start' ? 1 : 0, terms.leaseTimeMs);
      this.#tellShorter(terms.leaseTimeMs);
      return true;
    }
  }

  #let(): void {
    this.#leftMs = this.leaseMs;
    this.lock = undefined;
  }

  /** Those who sleep for as long as the lock was to be held. */
  #tellShorter(leaseMs: number): void {
    if (leaseMs < this.#leftMs && this.hasOutsiders) this.messages.push('all: 00');
  }

  #announce(): void {
    if (!this.hasOutsiders) return;
    for (const message of this.freed) this.messages.push(`all: ${message}`);
  }

  #stand(owner: string, terms: Terms): void {
    const process = owner.charAt(0);
    const aliveUntil = this.#now + terms.aliveMs;
    const since = this.claimOf(process)?.since ?? this.#now;
    const place = { process, number: owner.slice(1), since, aliveUntil, terms };
    if (this.#queue.length === 0) this.#queueEndsAt = 0;
    const at = this.#queue.findIndex((other) => other.process === process);
    if (at < 0) this.#queue.push(place);
    else this.#queue[at] = place;
    this.#queueEndsAt = Math.max(this.#queueEndsAt, aliveUntil);
  }

  #drop(process: string): void {
    this.#queue = this.#queue.filter((place) => place.process !== process);
  }
}
