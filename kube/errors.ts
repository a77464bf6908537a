/** Errors of requests to the API server, with advice. Their messages never contain an object's content. */

/** One of the reasons in a metav1.Status. */
interface KubeCause {
  /** "spec.quota.limitUsd"; "" for the whole object. */
  readonly field: string;
  readonly message: string;
  /** For example NamespaceTerminating. */
  readonly reason?: string;
}

interface KubeErrorDetails {
  readonly status: number;
  readonly reason?: string;
  readonly retryAfterMs?: number | undefined;
  /** Default: the message. */
  readonly words?: string;
  readonly causes?: readonly KubeCause[];
}

/** The API server refused a request or responded with an error. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** HTTP status. */
  readonly status: number;
  /** metav1.Status.reason, such as AlreadyExists; "" if absent. */
  readonly reason: string;
  /** The server's Retry-After. */
  readonly retryAfterMs: number | undefined;
  /** The server's own message. It may quote a refused value, so show it to the caller and do not log it. */
  readonly words: string;
  readonly causes: readonly KubeCause[];

  constructor(message: string, { status, reason = '', retryAfterMs, words = message, causes = [] }: KubeErrorDetails) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.words = words;
    this.causes = causes;
  }
}

/** The API server did not respond, or not in time. A write may or may not have been done. */
export class KubeUnreachable extends Error {
  override readonly name = 'KubeUnreachable';
}

/** True if an error is a response with one of these HTTP statuses. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): error is KubeError {
  return error instanceof KubeError && statuses.includes(error.status);
}

/** True if a creation failed because its namespace is being deleted. */
function isNamespaceTerminating({ causes }: KubeError): boolean {
  return causes.some(({ reason }) => reason === 'NamespaceTerminating');
}

/** A message for people who run the operator: what failed, and what to do about it. */
export function explainKubeError(error: unknown): string {
  if (error instanceof KubeUnreachable) return `the API server does not respond (${error.message})`;
  if (!(error instanceof KubeError)) return error instanceof Error ? error.message : String(error);
  if (isNamespaceTerminating(error))
    return 'the namespace is being deleted, so nothing can be created in it (NamespaceTerminating)';
  const advice = ADVICE[error.status];
  return advice === undefined ? error.message : `${error.message}; ${advice}`;
}

const ADVICE: Readonly<Record<number, string>> = {
  401: 'the API server rejects the credential of the operator: check its ServiceAccount token or kubeconfig',
  403: 'grant the ServiceAccount of the operator the rules in docs/examples/kubernetes/rbac.yaml',
  404: 'if the kind is missing, install the CustomResourceDefinitions: kubectl apply --server-side -f "crds/*.yaml"',
};
