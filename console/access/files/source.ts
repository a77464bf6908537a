/** What editing a folder of manifests needs: the folder as the operator has read it, and what is stored beside it. */
import type { Resource } from '#crds/types.gen.ts';
import type { Diagnostic } from '../../../operator/files/diagnostic.ts';
import type { Origin } from '../../../operator/files/load-folder.ts';
import type { FileText } from '../../../operator/files/scan-folder.ts';
import type { Resources, SecretObject } from '../../../operator/store/resources.ts';
import type { ObjectRef } from '../access.ts';

export interface ManifestSource {
  readonly folder: string;
  /** Of objects without a namespace, too. */
  readonly gatewayNamespace: string;
  /** The last good state … */
  readonly resources: Resources;
  /** … where its objects stand, by "Kind namespace/name" … */
  readonly origins: ReadonlyMap<string, Origin>;
  /** … and the files that it was read from, by path. */
  readonly files: ReadonlyMap<string, FileText>;
  /** What keeps the folder as it is now from being in force; empty: nothing. */
  readonly diagnostics: readonly Diagnostic[];
  /** Reads the folder now; resolves when it is in force, or was refused: statuses say which. */
  refresh(): Promise<void>;
  /** What is said of an object at this moment. */
  statusOf(object: ObjectRef & { readonly kind: Resource['kind'] }): Resource['status'];
  /** Brings the spending in statuses up to date, where it is not; waits a moment for it, no longer. */
  readSpending(): Promise<void>;
  /** A Secret of the manifests or of a generated key, by "namespace/name". */
  secretOf(id: string): SecretObject | undefined;
  /** Forgets a generated key. */
  discardSecret(id: string): Promise<void>;
}
