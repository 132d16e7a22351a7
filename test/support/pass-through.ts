import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../../libs/redis-lock/src/core/redis/connection.js';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';

/** A connection that does what another does; its subclasses watch it, or break it on purpose. */
export class PassThrough implements RedisConnection {
  constructor(protected readonly inner: RedisConnection) {}

  get isUp(): boolean {
    return this.inner.isUp;
  }

  get sendCount(): number | undefined {
    return this.inner.sendCount;
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas?: number,
  ): Promise<Reply<R>> {
    return this.around(script.name, () =>
      this.inner.run(this.patch(script), keys, args, minReplicas),
    );
  }

  /** A connection may do this instead of one run of a script. */
  protected around<R>(_script: string, run: () => Promise<Reply<R>>): Promise<Reply<R>> {
    return run();
  }

  /** The script that is run instead. */
  protected patch<S extends { name: string; lua: string; sha1: string }>(script: S): S {
    return script;
  }

  listen(channel: string, listener: ChannelListener): () => void {
    return this.inner.listen(channel, listener);
  }

  onUp(listener: () => void): () => void {
    return this.inner.onUp(listener);
  }

  place(key: string): KeyPlace {
    return this.inner.place(key);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
