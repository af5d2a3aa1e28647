// A certified OpenID provider (oidc-provider) on loopback, for tests.
//
// Each line on standard input is a JSON object that says what the provider is from then on, and is acknowledged on
// standard output. Tokens are always its own: signed by its keys, for the request that it got, by its clock.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const CLAIMS = ['email', 'email_verified', 'groups', 'teams', 'cost_centers'];
const machineClock = Date.now;
let setup;
let provider;
let jwks;

function newKeys() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig' }] };
}

function clientOf(id, secret) {
  return {
    client_id: id,
    client_secret: secret,
    redirect_uris: [setup.redirect],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    id_token_signed_response_alg: setup.algorithm,
  };
}

// Everybody who may sign in has consented.
async function grantFor(ctx) {
  const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
  grant.addOIDCScope('openid email profile');
  await grant.save();
  return grant;
}

function create() {
  return new Provider(setup.issuer, {
    clients: [clientOf(setup.client, setup.secret), clientOf(setup.other_client, setup.other_secret)],
    jwks,
    claims: { openid: ['sub'], email: CLAIMS, profile: ['name'] },
    conformIdTokenClaims: setup.claims_in_userinfo_only,
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'HS256'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...setup.person }) }),
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: grantFor,
    pkce: { required: () => true },
    cookies: { keys: ['only for tests'] },
    ttl: { IdToken: 300, Session: 600, Interaction: 600, Grant: 600, AccessToken: 300 },
  });
}

// The person is known, so nobody has to type anything.
async function interact(request, response) {
  const result = setup.denies ? { error: 'access_denied' } : { login: { accountId: '4711' } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

// A gateway in front of the provider that mistakes one client for another.
async function confuse(request) {
  const url = new URL(request.url, setup.issuer);
  if (url.searchParams.has('client_id')) {
    url.searchParams.set('client_id', setup.other_client);
    request.url = url.pathname + url.search;
  }
  if (request.method === 'POST') {
    let text = '';
    for await (const part of request) text += part;
    request.body = { ...Object.fromEntries(new URLSearchParams(text)), client_id: setup.other_client };
    const pair = [setup.other_client, setup.other_secret].map(encodeURIComponent).join(':');
    request.headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
}

const server = createServer(async (request, response) => {
  try {
    if (setup.confuses_clients) await confuse(request);
    if (request.url.startsWith('/interaction/')) await interact(request, response);
    else await provider.callback()(request, response);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});

function become(line) {
  const before = setup;
  setup = JSON.parse(line);
  if (!jwks || setup.keys !== before.keys) jwks = newKeys();
  Date.now = () => machineClock() + setup.clock_ahead_seconds * 1000;
  provider = create();
}

server.listen(Number(process.argv[2]), '127.0.0.1', () => {
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      become(line);
      console.log('ready');
    })
    .on('close', () => process.exit(0));
});
