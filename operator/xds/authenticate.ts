/**
 * Authenticates ServiceAccount tokens with TokenReview. A token must be issued for this server's audience, so that
 * tokens for other programs are refused. Results are cached briefly under the token's hash: after a restart the API
 * server is asked once per proxy, not once per attempt.
 */
import { createHash } from 'node:crypto';

/** What a token says about its bearer. */
export interface Identity {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Absent if the token is not bound to a pod. */
  readonly podName: string | undefined;
}

/** Unavailable: the API server did not respond; retry. */
export interface AuthenticationRefusal {
  readonly refused: 'Unauthenticated' | 'Unavailable';
  /** Contains nothing of the token. */
  readonly message: string;
}

export type Authenticate = (token: string) => Promise<Identity | AuthenticationRefusal>;

interface TokenReviewerOptions {
  /**
   * Posts JSON to a path of the API server and resolves with the response's JSON. Rejects if there is none, or the
   * status is not 2xx.
   */
  readonly post: (path: string, body: object) => Promise<unknown>;
  /** The audience for which tokens must be issued. */
  readonly audience: string;
  readonly nowMs: () => number;
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
const USER = /^system:serviceaccount:([^:]+):([^:]+)$/;
const POD_NAME = 'authentication.kubernetes.io/pod-name';
const ACCEPTED_MS = 60_000;
const REFUSED_MS = 5_000;
const MAX_KEPT = 10_000;

interface Kept {
  readonly answer: Promise<Identity | AuthenticationRefusal>;
  untilMs: number;
}

/** Returns a function that asks the API server about tokens. */
export function createTokenReviewer({ post, audience, nowMs }: TokenReviewerOptions): Authenticate {
  const kept = new Map<string, Kept>();

  async function review(token: string): Promise<Identity | AuthenticationRefusal> {
    try {
      const answer = await post(PATH, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, audiences: [audience] },
      });
      return readReview(answer, audience);
    } catch {
      // the error's message is not used: it may quote the request's body with the token
      return { refused: 'Unavailable', message: 'cannot verify the token at the API server' };
    }
  }

  function forget(): void {
    for (const [id, { untilMs }] of kept) if (untilMs <= nowMs() || kept.size > MAX_KEPT) kept.delete(id);
  }

  return (token) => {
    const id = createHash('sha256').update(token).digest('base64');
    const known = kept.get(id);
    if (known && known.untilMs > nowMs()) return known.answer;
    const entry: Kept = { answer: review(token), untilMs: nowMs() + REFUSED_MS };
    kept.set(id, entry);
    void entry.answer.then((answer) => {
      if (!('refused' in answer)) entry.untilMs = nowMs() + ACCEPTED_MS;
      else if (answer.refused === 'Unavailable') kept.delete(id);
    });
    if (kept.size > MAX_KEPT / 2) forget();
    return entry.answer;
  };
}

/** Parses a TokenReview's response without trusting its structure. */
export function readReview(answer: unknown, audience: string): Identity | AuthenticationRefusal {
  const status = field(answer, 'status');
  if (field(status, 'authenticated') !== true)
    return { refused: 'Unauthenticated', message: 'the token is not valid for this server, or has expired' };
  if (!strings(field(status, 'audiences')).includes(audience))
    return { refused: 'Unauthenticated', message: `the token is not for the audience ${audience}` };
  const user = field(status, 'user');
  const username = field(user, 'username');
  const [, namespace, serviceAccount] = (typeof username === 'string' && USER.exec(username)) || [];
  if (namespace === undefined || serviceAccount === undefined)
    return { refused: 'Unauthenticated', message: 'the token is not the token of a ServiceAccount' };
  return { namespace, serviceAccount, podName: strings(field(field(user, 'extra'), POD_NAME))[0] };
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
