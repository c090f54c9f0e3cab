/* uORB: topics with instances and a queue of messages each, publishers that queue one message, and subscribers. */
#include "double.h"

enum { MAX_QUEUE = 8 };

typedef struct {
    uint64_t generation; /* number of messages; 0: never published */
    _Alignas(8) uint8_t messages[MAX_QUEUE][MAX_MESSAGE];
} Node;

typedef struct {
    int topic;
    int requested; /* -1: any instance */
    int instance;  /* -1: not advertised yet */
    bool is_open, is_queued;
    _Alignas(8) uint8_t message[MAX_MESSAGE];
} Publisher;

typedef struct {
    int topic;
    int instance;
    bool is_open;
    uint64_t seen;
} Subscriber;

static Node nodes[N_TOPICS][MAX_INSTANCES];
static int advertised[N_TOPICS];
static Publisher publishers[MAX_ENDS];
static Subscriber subscribers[MAX_ENDS];
static int n_publishers, n_subscribers; /* since the process started: ids are never reused */

static const int PUBLISHED[] = {TOPIC_actuator_motors,         TOPIC_actuator_servos,
                                TOPIC_vehicle_torque_setpoint, TOPIC_vehicle_thrust_setpoint,
                                TOPIC_vehicle_attitude_setpoint, TOPIC_vehicle_rates_setpoint,
                                TOPIC_trajectory_setpoint,     TOPIC_position_setpoint_triplet,
                                TOPIC_mission_result,          TOPIC_control_allocator_status,
                                TOPIC_navigator_mission_item,  TOPIC_vehicle_command};

/* The modules advertise their topics when they start. */
void uorb_open(void) {
    for (size_t i = 0; i < sizeof PUBLISHED / sizeof *PUBLISHED; i++)
        if (advertised[PUBLISHED[i]] == 0) advertised[PUBLISHED[i]] = 1;
}

void uorb_close(void) {
    for (int i = 0; i < n_publishers; i++) publishers[i].is_open = false;
    for (int i = 0; i < n_subscribers; i++) subscribers[i].is_open = false;
}

static int topic_of(const char *name) {
    for (int i = 0; i < N_TOPICS; i++)
        if (strcmp(TOPICS[i].name, name) == 0) return i;
    return -1;
}

static uint32_t size_of(int topic) {
    return (uint32_t)told_of_topic("size", topic, TOPICS[topic].size);
}

static uint64_t queue_of(int topic) { return TOPICS[topic].queue < MAX_QUEUE ? TOPICS[topic].queue : MAX_QUEUE; }

static void put(int topic, int instance, const void *message) {
    Node *node = &nodes[topic][instance];
    memcpy(node->messages[node->generation % queue_of(topic)], message, TOPICS[topic].size);
    node->generation++;
}

void publish(int topic, const void *message) {
    if (advertised[topic] == 0) advertised[topic] = 1;
    if (!is_topic_told_now("silent", topic)) put(topic, 0, message);
}

const void *latest(int topic, int instance) {
    const Node *node = &nodes[topic][instance];
    return node->generation > 0 ? node->messages[(node->generation - 1) % queue_of(topic)] : NULL;
}

int instances(int topic) { return advertised[topic]; }

uint64_t publications(int topic, int instance) { return nodes[topic][instance].generation; }

static int advertise(Publisher *publisher) {
    if (advertised[publisher->topic] == MAX_INSTANCES) return -2;
    int instance = advertised[publisher->topic];
    if (publisher->requested >= 0 && publisher->requested != instance) return -4;
    advertised[publisher->topic]++;
    publisher->instance = instance;
    return 0;
}

int publish_queued(uint64_t now_us) {
    for (int i = 0; i < n_publishers; i++) {
        Publisher *publisher = &publishers[i];
        if (!publisher->is_open || !publisher->is_queued) continue;
        publisher->is_queued = false;
        int code = publisher->instance < 0 ? advertise(publisher) : 0;
        if (code != 0) return code;
        check_message(publisher->topic, publisher->instance, publisher->message, now_us);
        put(publisher->topic, publisher->instance, publisher->message);
    }
    return 0;
}

EXPORT int px4_lockstep_orb_topic_metadata(void *handle, const char *topic, const char **fields, uint32_t *size,
                                           uint32_t *size_no_padding, uint32_t *hash, uint8_t *queue) {
    DO_AS_TOLD("orb_topic_metadata");
    if (!is_live(handle) || topic == NULL) return -1;
    int number = topic_of(topic);
    if (number < 0) return -2;
    const Topic *known = &TOPICS[number];
    bool has_fields = is_told("fields");
    if (fields != NULL) *fields = has_fields ? known->field_string : NULL;
    if (size != NULL) *size = size_of(number);
    if (size_no_padding != NULL) *size_no_padding = known->size_no_padding;
    if (hash != NULL) *hash = (uint32_t)told_of_topic("hash", number, known->hash);
    if (queue != NULL) *queue = known->queue;
    return has_fields ? 0 : -3;
}

static int create_publisher(void *handle, const char *topic, int32_t priority, uint32_t queue, int32_t requested,
                            int32_t *id, int32_t *instance, uint32_t *size) {
    if (!is_live(handle) || topic == NULL || id == NULL || requested < -1 || requested >= MAX_INSTANCES) return -1;
    int number = topic_of(topic);
    if (number < 0) return -2;
    if (queue != 0 && queue != TOPICS[number].queue) return -6;
    if (n_publishers == MAX_ENDS) return -3;
    if (priority != 0) violation("priority", "publisher of %s has priority %d; it must be 0", topic, (int)priority);
    publishers[n_publishers] = (Publisher){.topic = number, .requested = requested, .instance = -1, .is_open = true};
    *id = n_publishers++;
    if (instance != NULL) *instance = -1;
    if (size != NULL) *size = size_of(number);
    return 0;
}

EXPORT int px4_lockstep_orb_create_publisher(void *handle, const char *topic, int32_t priority, uint32_t queue,
                                             int32_t *id, int32_t *instance, uint32_t *size) {
    DO_AS_TOLD("orb_create_publisher");
    return create_publisher(handle, topic, priority, queue, -1, id, instance, size);
}

EXPORT int px4_lockstep_orb_create_publisher_ex(void *handle, const char *topic, int32_t priority, uint32_t queue,
                                                int32_t requested_instance, int32_t *id, int32_t *instance,
                                                uint32_t *size) {
    DO_AS_TOLD("orb_create_publisher_ex");
    return create_publisher(handle, topic, priority, queue, requested_instance, id, instance, size);
}

EXPORT int px4_lockstep_orb_queue_publish(void *handle, int32_t id, const void *message, uint32_t size) {
    DO_AS_TOLD("orb_queue_publish");
    if (!is_live(handle) || message == NULL) return -1;
    if (id < 0 || id >= n_publishers) return -2;
    Publisher *publisher = &publishers[id];
    if (!publisher->is_open) return -3;
    if (size != TOPICS[publisher->topic].size) {
        violation("size", "%s has %u bytes; it must have %u", TOPICS[publisher->topic].name, size,
                  TOPICS[publisher->topic].size);
        return -4;
    }
    memcpy(publisher->message, message, size);
    publisher->is_queued = true;
    return 0;
}

EXPORT int px4_lockstep_orb_publisher_instance(void *handle, int32_t id, int32_t *instance) {
    DO_AS_TOLD("orb_publisher_instance");
    if (!is_live(handle) || instance == NULL) return -1;
    if (id < 0 || id >= n_publishers) return -2;
    if (!publishers[id].is_open) return -3;
    *instance = publishers[id].instance;
    return 0;
}

EXPORT int px4_lockstep_orb_create_subscriber(void *handle, const char *topic, uint32_t instance, int32_t *id,
                                              uint32_t *size) {
    DO_AS_TOLD("orb_create_subscriber");
    if (!is_live(handle) || topic == NULL || id == NULL) return -1;
    int number = topic_of(topic);
    if (number < 0) return -2;
    if (n_subscribers == MAX_ENDS || instance >= MAX_INSTANCES) return -3;
    /* An existing message counts as new, as in PX4. */
    uint64_t generation = nodes[number][instance].generation;
    uint64_t seen = generation > 0 ? generation - 1 : 0;
    subscribers[n_subscribers] = (Subscriber){number, (int)instance, true, seen};
    *id = n_subscribers++;
    if (size != NULL) *size = size_of(number);
    return 0;
}

static int find_subscriber(void *handle, int32_t id, Subscriber **found) {
    if (!is_live(handle)) return -1;
    if (id < 0 || id >= n_subscribers) return -2;
    *found = &subscribers[id];
    return (*found)->is_open ? 0 : -3;
}

EXPORT int px4_lockstep_orb_check(void *handle, int32_t id, int32_t *updated) {
    DO_AS_TOLD("orb_check");
    Subscriber *subscriber;
    int code = updated == NULL ? -1 : find_subscriber(handle, id, &subscriber);
    if (code == 0) *updated = nodes[subscriber->topic][subscriber->instance].generation != subscriber->seen;
    return code;
}

EXPORT int px4_lockstep_orb_copy(void *handle, int32_t id, void *message, uint32_t size) {
    DO_AS_TOLD("orb_copy");
    Subscriber *subscriber;
    int code = message == NULL ? -1 : find_subscriber(handle, id, &subscriber);
    if (code != 0) return code;
    if (size != TOPICS[subscriber->topic].size) return -4;
    const Node *node = &nodes[subscriber->topic][subscriber->instance];
    if (node->generation == 0) return -1;
    /* Each copy takes the oldest message that is still in the queue; without a new one, the newest again. */
    uint64_t queue = queue_of(subscriber->topic);
    if (subscriber->seen == node->generation) subscriber->seen--;
    if (node->generation - subscriber->seen > queue) subscriber->seen = node->generation - queue;
    memcpy(message, node->messages[subscriber->seen % queue], size);
    subscriber->seen++;
    return 0;
}

EXPORT int px4_lockstep_orb_unsubscribe(void *handle, int32_t id) {
    DO_AS_TOLD("orb_unsubscribe");
    Subscriber *subscriber;
    int code = find_subscriber(handle, id, &subscriber);
    if (code == 0) subscriber->is_open = false;
    return code;
}
