/**
 * Requests a token once for all waiting calls, caches it, and renews it before it expires. After a failed renewal the
 * old token stays in use until it expires; then calls fail.
 */
export interface Issued<T> {
  readonly value: T;
  readonly expiresAtMs: number;
}

export interface TokenSource<T> {
  /** Rejects with SignInError. */
  get(): Promise<T>;
  /** Reports that the provider refused this token: the next call requests another. */
  refuse(value: T): void;
}

export interface TokenClock {
  nowMs(): number;
  /** A number in [0, 1). */
  random(): number;
}

/** A token is renewed after this share of its lifetime, less a random share, so that proxies do not renew at once. */
const RENEW_AFTER = 0.8;
const JITTER = 0.1;
/** A token that expires within this time is not used: a call must be able to start with it. */
const MARGIN_MS = 10_000;
/** After a failed request, calls fail for this long without another request. */
const FAILED_MS = 1_000;

/** `request` asks the token service, and rejects with SignInError. */
export function createTokenSource<T>(request: () => Promise<Issued<T>>, clock: TokenClock): TokenSource<T> {
  let current: (Issued<T> & { readonly renewAtMs: number }) | undefined;
  let flight: Promise<T> | undefined;
  let failed: { readonly error: unknown; readonly untilMs: number } | undefined;

  async function ask(): Promise<T> {
    try {
      const issued = await request();
      const now = clock.nowMs();
      const share = RENEW_AFTER - JITTER * clock.random();
      current = { ...issued, renewAtMs: now + (issued.expiresAtMs - now) * share };
      failed = undefined;
      return issued.value;
    } catch (error) {
      failed = { error, untilMs: clock.nowMs() + FAILED_MS };
      throw error;
    } finally {
      flight = undefined;
    }
  }

  return {
    async get() {
      const now = clock.nowMs();
      const failing = failed && now < failed.untilMs ? failed : undefined;
      if (!current || now >= current.expiresAtMs - MARGIN_MS) {
        if (failing) throw failing.error;
        return (flight ??= ask());
      }
      // the call does not wait; a failure is reported by the first call after the token has expired
      if (now >= current.renewAtMs && !failing && !flight) (flight = ask()).catch(() => undefined);
      return current.value;
    },
    refuse(value) {
      if (current?.value === value) current = undefined;
    },
  };
}
