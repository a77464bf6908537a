/** [P] Describes for the snapshot how a channel signs in and how its platform dresses requests. */
import type { ModelRouteChannel, ModelRouteChannelAuth } from '#crds/types.gen.ts';
import { Platform } from '#snapshot/snapshot.gen.ts';
import type { Channel, SignIn } from '#snapshot/snapshot.gen.ts';

const PLATFORMS = {
  Direct: Platform.UNSPECIFIED,
  AzureDeployments: Platform.AZURE_DEPLOYMENTS,
  BedrockInvoke: Platform.BEDROCK_INVOKE,
  VertexPublisher: Platform.VERTEX_PUBLISHER,
} as const;
/** The latest dated version of Azure's API that is not a preview. */
const AZURE_API_VERSION = '2024-10-21';

type Translated = Pick<Channel, 'apiKey' | 'platform' | 'apiVersion' | 'signIn' | 'keyHeader'>;

/** `credential` is that of the channel's Secret; undefined if the channel names none. */
export function translateSignIn(
  { auth, platform = 'Direct', apiVersion }: ModelRouteChannel,
  credential: string | undefined,
): Translated {
  return {
    ...(auth?.type === 'ApiKey' ? apiKeyOf(auth, credential) : { apiKey: undefined }),
    ...(platform !== 'Direct' && { platform: PLATFORMS[platform] }),
    ...(platform === 'AzureDeployments' && { apiVersion: apiVersion ?? AZURE_API_VERSION }),
    ...(auth && auth.type !== 'ApiKey' && { signIn: signInOf(auth, { platform, credential }) }),
  };
}

function apiKeyOf(
  { header }: ModelRouteChannelAuth,
  credential: string | undefined,
): Pick<Channel, 'apiKey' | 'keyHeader'> {
  return {
    apiKey: credential === undefined ? undefined : { value: credential },
    ...(header && { keyHeader: header.toLowerCase() }),
  };
}

interface SignInContext {
  readonly platform: NonNullable<ModelRouteChannel['platform']>;
  readonly credential: string | undefined;
}

function signInOf(auth: ModelRouteChannelAuth, { platform, credential }: SignInContext): SignIn {
  return { credential: credential === undefined ? undefined : { value: credential }, way: wayOf(auth, platform) };
}

function wayOf({ type, aws, azure }: ModelRouteChannelAuth, platform: SignInContext['platform']): SignIn['way'] {
  if (type === 'GoogleOAuth') return { $case: 'google', value: {} };
  return type === 'AwsSigV4' && aws ? { $case: 'aws', value: aws } : wayOfAzure(azure, platform);
}

function wayOfAzure(
  azure: ModelRouteChannelAuth['azure'] = {},
  platform: SignInContext['platform'] = 'Direct',
): SignIn['way'] {
  const { tenantId = '', clientId = '', scope = azureScope(platform), authority = '' } = azure;
  return { $case: 'azure', value: { tenantId, clientId, scope, authority: authority.replace(/\/$/, '') } };
}

function azureScope(platform: SignInContext['platform']): string {
  return platform === 'AzureDeployments'
    ? 'https://cognitiveservices.azure.com/.default'
    : 'https://ai.azure.com/.default';
}
