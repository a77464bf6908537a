/** A folder of manifests as the operator has read it, with what is stored beside it, for edits in the console. */
import type { Resource } from '#crds/types.gen.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import type { Origin } from '#manifests/load-folder.ts';
import type { FileText } from '#manifests/scan-folder.ts';
import type { Resources, SecretObject, SecretRef } from '#objects/resources.ts';
import type { ObjectRef } from '../access.ts';

export interface ManifestSource {
  readonly folder: string;
  /** Also the namespace of objects that name none. */
  readonly gatewayNamespace: string;
  /** The last valid state. */
  readonly resources: Resources;
  /** The positions of its objects, by "Kind namespace/name". */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The files that it was read from, by path. */
  readonly files: ReadonlyMap<string, FileText>;
  /** The mistakes because of which the folder is not in force as it is now; empty: it is in force. */
  readonly diagnostics: readonly Diagnostic[];
  /** Reads the folder now. Resolves when it is in force or was refused; the statuses say which. */
  refresh(options?: { readonly mayBeEmpty?: boolean }): Promise<void>;
  /** An object's current status. */
  statusOf(object: ObjectRef & { readonly kind: Resource['kind'] }): Resource['status'];
  /** Updates the spending in the statuses, and waits for that only for a moment. */
  readSpending(): Promise<void>;
  /** A Secret of the manifests or of a generated key. */
  secretOf(secret: SecretRef): SecretObject | undefined;
  /** Deletes a generated key. */
  discardSecret(secret: SecretRef): Promise<void>;
}
