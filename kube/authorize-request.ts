/**
 * Decides whether the bearer of a Kubernetes token may read a path of this process: TokenReview identifies the user,
 * and SubjectAccessReview says whether RBAC lets them get the path (nonResourceURLs).
 */
import type { KubeClient } from './client.ts';

interface AuthorizeOptions {
  readonly client: Pick<KubeClient, 'request'>;
  /** For example /config_dump. */
  readonly path: string;
}

/** Resolves with false for unknown tokens and missing rights. Rejects if the API server cannot be asked. */
export function createPathAuthorizer({ client, path }: AuthorizeOptions): (token: string) => Promise<boolean> {
  return async (token) => {
    const { status: review } = await client.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
    });
    if (review?.authenticated !== true) return false;
    const { username: user, uid, groups, extra } = review.user ?? {};
    const spec = { user, uid, groups, extra, nonResourceAttributes: { path, verb: 'get' } };
    const { status: access } = await client.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
    });
    return access?.allowed === true && access.denied !== true;
  };
}
